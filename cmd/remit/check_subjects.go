package main

func (f *checkFlags) chooseCaller(c *check, command []string) error { return usage("not yet") }

func (f *checkFlags) chooseTools(c *check) error { return usage("not yet") }
