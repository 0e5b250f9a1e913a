"""The words of time of each language, one file a language, in the form that `lexicon` reads."""
