// Definitions of a file, published and shaped like such, each with an object that lives its life by the dynamic
// client under the eyes of an informer.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

var definitionResource = schema.GroupVersionResource{
	Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions",
}

// sample is a definition, and the smallest object that it takes.
type sample struct {
	Definition unstructured.Unstructured `json:"definition"`
	Object     unstructured.Unstructured `json:"object"`
	Plural     string                    `json:"plural"`
	Namespaced bool                      `json:"namespaced"`
}

func runDefinitions(kubeconfig, file string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = -1, -1
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var samples []sample
	if err := json.Unmarshal(text, &samples); err != nil {
		return err
	}
	for _, one := range samples {
		if err := live(ctx, client, one); err != nil {
			return fmt.Errorf("%s: %w", one.Definition.GetName(), err)
		}
	}
	fmt.Printf("ok - %d definitions: created, applied, patched, listed, followed by informers, deleted\n", len(samples))
	return nil
}

// seen gathers what an informer tells.
type seen struct {
	sync.Mutex
	events []string
}

func (s *seen) add(event string) {
	s.Lock()
	defer s.Unlock()
	if !slices.Contains(s.events, event) {
		s.events = append(s.events, event)
	}
}

func (s *seen) has(event string) bool {
	s.Lock()
	defer s.Unlock()
	return slices.Contains(s.events, event)
}

func live(ctx context.Context, client dynamic.Interface, one sample) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	definitions := client.Resource(definitionResource)
	if _, err := definitions.Create(ctx, &one.Definition, metav1.CreateOptions{}); err != nil {
		return err
	}
	gvr := one.Object.GroupVersionKind().GroupVersion().WithResource(one.Plural)
	informer := dynamicinformer.NewDynamicSharedInformerFactory(client, 0).ForResource(gvr).Informer()
	told := &seen{}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { told.add("ADDED") },
		UpdateFunc: func(any, any) { told.add("MODIFIED") },
		DeleteFunc: func(any) { told.add("DELETED") },
	})
	if err != nil {
		return err
	}
	go informer.RunWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return fmt.Errorf("the informer never synced")
	}
	objects := dynamic.ResourceInterface(client.Resource(gvr))
	if one.Namespaced {
		objects = client.Resource(gvr).Namespace("default")
	}
	steps := []struct {
		event string
		run   func() error
	}{
		{"ADDED", func() error {
			_, err := objects.Create(ctx, &one.Object, metav1.CreateOptions{FieldValidation: "Strict"})
			return err
		}},
		{"MODIFIED", func() error { return change(ctx, objects, one.Object) }},
		{"DELETED", func() error {
			return objects.Delete(ctx, one.Object.GetName(), metav1.DeleteOptions{})
		}},
	}
	for _, step := range steps {
		if err := step.run(); err != nil {
			return err
		}
		for ; !told.has(step.event); time.Sleep(time.Millisecond) {
			if err := ctx.Err(); err != nil {
				return fmt.Errorf("%s was never told: %w", step.event, err)
			}
		}
	}
	return definitions.Delete(ctx, one.Definition.GetName(), metav1.DeleteOptions{})
}

func change(ctx context.Context, objects dynamic.ResourceInterface, object unstructured.Unstructured) error {
	applied := object.DeepCopy()
	applied.SetLabels(map[string]string{"color": "red"})
	options := metav1.ApplyOptions{FieldManager: "definitions", Force: true}
	if _, err := objects.Apply(ctx, applied.GetName(), applied, options); err != nil {
		return err
	}
	patch := []byte(`{"metadata":{"labels":{"color":"blue"}}}`)
	if _, err := objects.Patch(ctx, applied.GetName(), types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return err
	}
	for color, wanted := range map[string]int{"blue": 1, "red": 0} {
		list, err := objects.List(ctx, metav1.ListOptions{LabelSelector: "color=" + color})
		if err != nil {
			return err
		}
		if len(list.Items) != wanted {
			return fmt.Errorf("%d of color %s", len(list.Items), color)
		}
	}
	return nil
}
