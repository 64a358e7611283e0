"""Loops that several threads run in order: each access when it comes in lockstep, whatever the others do."""
