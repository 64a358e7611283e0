"""Sentences, labels and explanations: words, and no pictures."""
