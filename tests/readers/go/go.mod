module readers

go 1.21

require github.com/joho/godotenv v1.5.1
