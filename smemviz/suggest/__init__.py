"""Another layout for a shared array, as text: edits of the kernel file, and the proof that they keep their promise."""
