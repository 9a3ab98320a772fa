// What godotenv reads in a file, as JSON.
package main

import (
	"encoding/json"
	"log"
	"os"

	"github.com/joho/godotenv"
)

func main() {
	read, err := godotenv.Read(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(read); err != nil {
		log.Fatal(err)
	}
}
