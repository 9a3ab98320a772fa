// What Node's dotenv reads in a file, as JSON.
const { readFileSync } = require("node:fs");
const { parse } = require("dotenv");

process.stdout.write(JSON.stringify(parse(readFileSync(process.argv[2]))));
