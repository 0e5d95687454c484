"""What every package may use: files, frames, JSON, threads, pictures and words; nothing of privacy."""
