"""What commands share: output, options, the files that are named, intervals."""
