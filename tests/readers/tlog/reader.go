// Verifies an exported log by the Go project's own packages: the folder, the verifier key, an older size.
package main

import (
	"encoding/binary"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

const height = 8

// files reads tiles where C2SP's tlog-tiles has them; the package has the height in its paths, too.
type files struct{ folder string }

func (f files) Height() int { return height }

func (f files) ReadTiles(tiles []tlog.Tile) ([][]byte, error) {
	var found [][]byte
	for _, tile := range tiles {
		path := tile.Path()[len("tile/8/"):]
		data, err := os.ReadFile(filepath.Join(f.folder, "tile", path))
		if err != nil {
			return nil, err
		}
		found = append(found, data)
	}
	return found, nil
}

func (f files) SaveTiles([]tlog.Tile, [][]byte) {}

// entries reads all leaves, out of their bundles.
func (f files) entries(size int64) [][]byte {
	var found [][]byte
	for n := int64(0); n*256 < size; n++ {
		tile := tlog.Tile{H: height, L: 0, N: n, W: int(min(256, size-n*256))}
		data, err := os.ReadFile(filepath.Join(f.folder, "tile/entries", tile.Path()[len("tile/8/0/"):]))
		check(err)
		for len(data) > 0 {
			length := 2 + int(binary.BigEndian.Uint16(data))
			found = append(found, data[2:length])
			data = data[length:]
		}
	}
	return found
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func main() {
	log.SetFlags(0)
	folder := files{os.Args[1]}
	verifier, err := note.NewVerifier(os.Args[2])
	check(err)
	text, err := os.ReadFile(filepath.Join(folder.folder, "checkpoint"))
	check(err)
	signed, err := note.Open(text, note.VerifierList(verifier))
	check(err)
	// A checkpoint's first line is the log's own name, that of the package's text is fixed.
	body := signed.Text[len(verifier.Name()):]
	tree, err := tlog.ParseTree([]byte("go.sum database tree" + body))
	check(err)
	reader := tlog.TileHashReader(tree, folder)
	found := folder.entries(tree.N)
	if int64(len(found)) != tree.N {
		log.Fatalf("%d entries of %d", len(found), tree.N)
	}
	for n, entry := range found {
		hash := tlog.RecordHash(entry)
		proof, err := tlog.ProveRecord(tree.N, int64(n), reader)
		check(err)
		check(tlog.CheckRecord(proof, tree.N, tree.Hash, int64(n), hash))
	}
	old, err := strconv.ParseInt(os.Args[3], 10, 64)
	check(err)
	before, err := tlog.TreeHash(old, reader)
	check(err)
	proof, err := tlog.ProveTree(tree.N, old, reader)
	check(err)
	check(tlog.CheckTree(proof, tree.N, tree.Hash, old, before))
	fmt.Printf("%s %d %s\n", verifier.Name(), tree.N, before)
}
