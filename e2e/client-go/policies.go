// The rules of a policy controller, installed from rendered manifests and used by typed clients: what
// they refuse is an error of the kind that it says, and what they warn of is heard.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

// Hears the warnings of a client.
type hearing struct {
	mutex sync.Mutex
	texts []string
}

func (h *hearing) HandleWarningHeader(_ int, _ string, text string) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.texts = append(h.texts, text)
}

// The namespace is there and labelled; the definition of the parameters is served.
func policies(ctx context.Context, config *rest.Config, manifests, under string) error {
	heard := &hearing{}
	own := rest.CopyConfig(config)
	own.ContentType, own.AcceptContentTypes = protobuf, protobuf
	own.WarningHandler = heard
	typed, err := kubernetes.NewForConfig(own)
	if err != nil {
		return err
	}
	dyn, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	if err := install(ctx, typed, dyn, manifests, under); err != nil {
		return err
	}
	found, err := typed.AdmissionregistrationV1().ValidatingAdmissionPolicies().Get(ctx, "go-entries", metav1.GetOptions{})
	if err != nil {
		return err
	}
	if *found.Spec.FailurePolicy != admissionv1.Fail || len(found.Spec.Variables) != 1 {
		return fmt.Errorf("the policy is another: %v", found.Spec)
	}
	maps := typed.CoreV1().ConfigMaps(under)
	small, err := maps.Create(ctx, entries("small", 2), metav1.CreateOptions{})
	if err != nil {
		return err
	}
	if small.Labels["under"] != "go" || small.Annotations["seen"] != "yes" {
		return fmt.Errorf("nothing was changed: %v, %v", small.Labels, small.Annotations)
	}
	if len(heard.texts) != 1 || !strings.HasSuffix(heard.texts[0], "'go-owner': it should have an owner") {
		return fmt.Errorf("heard %q", heard.texts)
	}
	_, err = maps.Create(ctx, entries("large", 4), metav1.CreateOptions{})
	if !apierrors.IsInvalid(err) || !strings.HasSuffix(err.Error(), "denied request: at most 3 entries, not 4") {
		return fmt.Errorf("not refused as it should be: %v", err)
	}
	limits := dyn.Resource(schema.GroupVersionResource{Group: "policies.example.com", Version: "v1", Resource: "entrylimits"})
	_, err = limits.Patch(ctx, "go", types.MergePatchType, []byte(`{"spec":{"max":4}}`), metav1.PatchOptions{})
	if err != nil {
		return err
	}
	_, err = maps.Create(ctx, entries("large", 4), metav1.CreateOptions{})
	return err
}

func install(ctx context.Context, typed kubernetes.Interface, dyn dynamic.Interface, path, under string) error {
	groups, err := restmapper.GetAPIGroupResources(typed.Discovery())
	if err != nil {
		return err
	}
	mapper := restmapper.NewDiscoveryRESTMapper(groups)
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	decoder := yaml.NewYAMLOrJSONDecoder(file, 4096)
	for {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(object); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		kind := object.GroupVersionKind()
		mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if err != nil {
			return err
		}
		var target dynamic.ResourceInterface = dyn.Resource(mapping.Resource)
		if mapping.Scope.Name() == "namespace" {
			target = dyn.Resource(mapping.Resource).Namespace(under)
		}
		if _, err := target.Create(ctx, object, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("%s %s: %w", kind.Kind, object.GetName(), err)
		}
	}
}

func entries(name string, count int) *corev1.ConfigMap {
	data := map[string]string{}
	for at := range count {
		data[fmt.Sprintf("entry-%d", at)] = "x"
	}
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: data}
}
