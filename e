b50 status100 --json 2.09s 276392kB
