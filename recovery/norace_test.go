//go:build !race

package recovery_test

const raceDetector = false
