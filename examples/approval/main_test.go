package main

// The program is held to what it says: the call waits, is decided once, and the
// bank pays once, in the process that goes on with the run.
func Example() {
	main()
	// Output:
	// first  the run waits for approval: pay 90000 to landlord?
	// second ada approves: recorded, by ada
	// second bob approves: already_decided, by ada
	//        the bank pays 90000 to landlord
	// third  completed: Done: paid 90000 to landlord
}
