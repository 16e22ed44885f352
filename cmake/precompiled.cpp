// Nothing: carries the headers that most modules share, compiled once.
