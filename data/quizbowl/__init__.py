"""Quizbowl: the words of a question, and which answers an answer line accepts."""
