"""Work that goes on beside the page: our own command line, run and polled."""
