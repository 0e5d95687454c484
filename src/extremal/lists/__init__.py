"""Lists of thousands of answers: reports that are a start and a public step, drawn, proved and counted."""
