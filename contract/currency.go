package contract

import "strings"

// NoMinorUnit is the exponent of an ISO 4217 code that defines none, such as
// XTS, the code for tests: its amounts can only be written in minor units.
const NoMinorUnit = -1

// exponents groups the active codes of ISO 4217 by the number of decimal
// digits between the major and the minor unit.
var exponents = map[int]string{
	0: `BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF`,
	2: `AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BMD BND BOB BOV BRL BSD BTN BWP BYN BZD
		CAD CDF CHE CHF CHW CNY COP COU CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP
		GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS INR IRR JMD KES KGS KHR KPW KYD KZT LAK
		LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO
		NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS
		SRD SSP STN SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD USN UYU UZS VED VES WST
		XAD XCD XCG YER ZAR ZMW ZWG`,
	3:           `BHD IQD JOD KWD LYD OMR TND`,
	4:           `CLF UYW`,
	NoMinorUnit: `XAG XAU XBA XBB XBC XBD XDR XPD XPT XSU XTS XUA XXX`,
}

var exponentOf = func() map[string]int {
	byCode := map[string]int{}
	for exponent, codes := range exponents {
		for code := range strings.FieldsSeq(codes) {
			byCode[code] = exponent
		}
	}
	return byCode
}()

// Exponent is the number of decimal digits between a currency's major and
// minor unit by ISO 4217, or NoMinorUnit, and whether the code is one of the
// standard's.
func Exponent(currency string) (int, bool) {
	exponent, ok := exponentOf[currency]
	return exponent, ok
}
