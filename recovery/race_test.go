//go:build race

package recovery_test

// raceDetector: allocations cannot be counted under it.
const raceDetector = true
