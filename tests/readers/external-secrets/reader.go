// What the External Secrets Operator's own webhook provider reads for manifests of stdin, as JSON.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/yaml"

	esv1 "github.com/external-secrets/external-secrets/apis/externalsecrets/v1"
	"github.com/external-secrets/external-secrets/pkg/provider/webhook"
)

const namespace = "default"

// result is what an ExternalSecret came to; IsMissing says that the operator takes it for deleted.
type result struct {
	Data      map[string][]byte
	Error     string
	IsMissing bool
}

type manifests struct {
	tokens  []client.Object
	stores  map[string]*esv1.SecretStore
	secrets []*esv1.ExternalSecret
}

func main() {
	given, err := read(os.Stdin)
	if err != nil {
		log.Fatal(err)
	}
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		log.Fatal(err)
	}
	cluster := fake.NewClientBuilder().WithScheme(scheme).WithObjects(given.tokens...).Build()
	results := map[string]result{}
	for _, secret := range given.secrets {
		data, err := fetch(given.stores[secret.Spec.SecretStoreRef.Name], cluster, secret)
		one := result{Data: data, IsMissing: errors.Is(err, esv1.NoSecretErr)}
		if err != nil {
			one.Error = err.Error()
		}
		results[secret.Name] = one
	}
	if err := json.NewEncoder(os.Stdout).Encode(results); err != nil {
		log.Fatal(err)
	}
}

// read decodes manifests into the types of Kubernetes and of the operator, and refuses unknown fields.
func read(source io.Reader) (*manifests, error) {
	given := &manifests{stores: map[string]*esv1.SecretStore{}}
	documents := utilyaml.NewYAMLReader(bufio.NewReader(source))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return given, nil
		}
		if err != nil {
			return nil, err
		}
		if err := given.add(document); err != nil {
			return nil, err
		}
	}
}

func (given *manifests) add(document []byte) error {
	kind := struct{ Kind string }{}
	if err := yaml.Unmarshal(document, &kind); err != nil {
		return err
	}
	switch kind.Kind {
	case "Secret":
		token := &corev1.Secret{}
		if err := yaml.UnmarshalStrict(document, token); err != nil {
			return err
		}
		// The API server does this.
		token.Namespace, token.Data = namespace, map[string][]byte{}
		for key, value := range token.StringData {
			token.Data[key] = []byte(value)
		}
		given.tokens = append(given.tokens, token)
	case "SecretStore":
		store := &esv1.SecretStore{}
		if err := yaml.UnmarshalStrict(document, store); err != nil {
			return err
		}
		given.stores[store.Name] = store
	case "ExternalSecret":
		secret := &esv1.ExternalSecret{}
		if err := yaml.UnmarshalStrict(document, secret); err != nil {
			return err
		}
		given.secrets = append(given.secrets, secret)
	default:
		return fmt.Errorf("unknown kind: %q", kind.Kind)
	}
	return nil
}

// fetch asks the provider for everything that an ExternalSecret names.
func fetch(store *esv1.SecretStore, cluster client.Client, secret *esv1.ExternalSecret) (map[string][]byte, error) {
	if store == nil {
		return nil, fmt.Errorf("no store for %s", secret.Name)
	}
	ctx := context.Background()
	provider, err := (&webhook.Provider{}).NewClient(ctx, store, cluster, namespace)
	if err != nil {
		return nil, err
	}
	data := map[string][]byte{}
	for _, one := range secret.Spec.DataFrom {
		found, err := provider.GetSecretMap(ctx, *one.Extract)
		if err != nil {
			return nil, err
		}
		for key, value := range found {
			data[key] = value
		}
	}
	for _, one := range secret.Spec.Data {
		value, err := provider.GetSecret(ctx, one.RemoteRef)
		if err != nil {
			return nil, err
		}
		data[one.SecretKey] = value
	}
	return data, nil
}
