// Command remit serves agent tools by a contract, calls them, and checks what
// they answer.
package main

import "os"

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
