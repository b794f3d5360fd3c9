// Client-go against a running server: typed clients and informers in Protobuf (and CBOR, where asked),
// metadata and dynamic informers, streaming lists, apply, leader election. Prints one line for each
// thing that it saw working; ends with status 1 at the first that does not.
//
//	client-go --kubeconfig=FILE [--cbor]
//	client-go --kubeconfig=FILE --manifests=FILE --namespace=NAME   rules of a policy controller alone
//	client-go --kubeconfig=FILE --definitions=FILE                  definitions with an object each alone
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	appsapply "k8s.io/client-go/applyconfigurations/apps/v1"
	coreapply "k8s.io/client-go/applyconfigurations/core/v1"
	metaapply "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/util/retry"
)

// Each run has one of its own, so that runs do not meet.
var namespace = fmt.Sprintf("client-go-%d", os.Getpid())

const (
	objects  = 200
	deadline = 60 * time.Second
	protobuf = "application/vnd.kubernetes.protobuf"
	cbor     = "application/cbor"
	manager  = "client-go-test"
)

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

func main() {
	kubeconfig := flag.String("kubeconfig", "", "client configuration")
	isCBOR := flag.Bool("cbor", false, "speak CBOR instead of Protobuf")
	manifests := flag.String("manifests", "", "rendered manifests of the policy controller")
	under := flag.String("namespace", "", "where its rules are in force")
	definitions := flag.String("definitions", "", "definitions and objects of them")
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	err := error(nil)
	switch {
	case *definitions != "":
		err = runDefinitions(*kubeconfig, *definitions)
	case *manifests != "":
		err = runPolicies(ctx, *kubeconfig, *manifests, *under)
	default:
		err = run(ctx, *kubeconfig, *isCBOR)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "not ok:", err)
		os.Exit(1)
	}
}

func runPolicies(ctx context.Context, kubeconfig, manifests, under string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	config.QPS, config.Burst = -1, -1
	if err := policies(ctx, config, manifests, under); err != nil {
		return err
	}
	fmt.Println("ok - rules of a policy controller: installed, refused, warned, changed, another parameter")
	return nil
}

type check struct {
	name string
	run  func(context.Context, clients) error
}

type clients struct {
	typed    kubernetes.Interface
	json     kubernetes.Interface
	dynamic  dynamic.Interface
	metadata metadata.Interface
}

func run(ctx context.Context, kubeconfig string, isCBOR bool) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	config.QPS, config.Burst = -1, -1
	all, err := connect(config, isCBOR)
	if err != nil {
		return err
	}
	checks := []check{
		{"discovery: every group and resource", discovery},
		{"typed create, get, update, patch, delete", typedWrites},
		{"list in pages of 7", pages},
		{"typed informer: starts, follows, agrees with a list", typedInformer},
		{"shared informers of deployments, pods and secrets", manyInformers},
		{"metadata informer", metadataInformer},
		{"dynamic informer", dynamicInformer},
		{"streaming list ends with its bookmark", streamingList},
		{"apply with typed configurations, and a conflict", apply},
		{"optimistic locking: retries on conflict", conflicts},
		{"a watch from an expired version says so", expiredWatch},
		{"leader election over a Lease", election},
		{"a custom kind: dynamic client, informer, status, apply", customKind},
	}
	for _, c := range checks {
		if err := c.run(ctx, all); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		fmt.Println("ok -", c.name)
	}
	return nil
}

func connect(config *rest.Config, isCBOR bool) (clients, error) {
	encoded := rest.CopyConfig(config)
	encoded.ContentType, encoded.AcceptContentTypes = protobuf, protobuf
	if isCBOR {
		encoded.ContentType, encoded.AcceptContentTypes = cbor, cbor
	}
	typed, err := kubernetes.NewForConfig(encoded)
	if err != nil {
		return clients{}, err
	}
	plain, err := kubernetes.NewForConfig(config)
	if err != nil {
		return clients{}, err
	}
	dyn, err := dynamic.NewForConfig(config)
	if err != nil {
		return clients{}, err
	}
	meta, err := metadata.NewForConfig(config)
	if err != nil {
		return clients{}, err
	}
	_, err = plain.CoreV1().Namespaces().Create(context.Background(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return clients{}, err
	}
	return clients{typed: typed, json: plain, dynamic: dyn, metadata: meta}, nil
}

func discovery(_ context.Context, c clients) error {
	groups, resources, err := c.typed.Discovery().ServerGroupsAndResources()
	if err != nil {
		return err
	}
	if len(groups) < 15 || len(resources) < 15 {
		return fmt.Errorf("only %d groups, %d lists", len(groups), len(resources))
	}
	if _, err := c.typed.Discovery().OpenAPISchema(); err != nil {
		return err
	}
	_, err = c.typed.Discovery().ServerVersion()
	return err
}

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"made-by": manager}},
		Data:       map[string]string{"text": "ä\n"},
		BinaryData: map[string][]byte{"bytes": {0, 1, 0xfe, 0xff}},
	}
}

func typedWrites(ctx context.Context, c clients) error {
	maps := c.typed.CoreV1().ConfigMaps(namespace)
	made, err := maps.Create(ctx, configMap("typed"), metav1.CreateOptions{})
	if err != nil {
		return err
	}
	if made.UID == "" || string(made.BinaryData["bytes"]) != "\x00\x01\xfe\xff" {
		return fmt.Errorf("created %v", made)
	}
	made.Data["more"] = "1"
	if made, err = maps.Update(ctx, made, metav1.UpdateOptions{}); err != nil {
		return err
	}
	patched, err := maps.Patch(ctx, "typed", types.StrategicMergePatchType,
		[]byte(`{"data":{"text":null,"more":"2"}}`), metav1.PatchOptions{})
	if err != nil {
		return err
	}
	read, err := maps.Get(ctx, "typed", metav1.GetOptions{})
	if err != nil {
		return err
	}
	if read.Data["more"] != "2" || len(read.Data) != 1 || read.ResourceVersion != patched.ResourceVersion {
		return fmt.Errorf("read %v", read)
	}
	if err := maps.Delete(ctx, "typed", metav1.DeleteOptions{}); err != nil {
		return err
	}
	if _, err = maps.Get(ctx, "typed", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		return fmt.Errorf("after the deletion: %v", err)
	}
	return nil
}

func pages(ctx context.Context, c clients) error {
	maps := c.typed.CoreV1().ConfigMaps(namespace)
	for i := range objects {
		_, err := maps.Create(ctx, configMap(fmt.Sprintf("item-%04d", i)), metav1.CreateOptions{})
		if err != nil {
			return err
		}
	}
	seen := map[string]bool{}
	token := ""
	for {
		list, err := maps.List(ctx, metav1.ListOptions{
			Limit: 7, Continue: token, LabelSelector: "made-by=" + manager,
		})
		if err != nil {
			return err
		}
		for _, item := range list.Items {
			seen[item.Name] = true
		}
		if token = list.Continue; token == "" {
			break
		}
	}
	if len(seen) != objects {
		return fmt.Errorf("%d of %d", len(seen), objects)
	}
	return nil
}

// follow runs an informer, changes something, and waits until the informer has seen it.
func follow(ctx context.Context, c clients, informer cache.SharedIndexInformer, marker string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var once sync.Once
	seen := make(chan struct{})
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) {
			if key, _ := cache.MetaNamespaceKeyFunc(object); key == namespace+"/"+marker {
				once.Do(func() { close(seen) })
			}
		},
	})
	if err != nil {
		return err
	}
	go informer.RunWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return errors.New("never synced")
	}
	if count := len(informer.GetStore().ListKeys()); count < objects {
		return fmt.Errorf("holds %d objects", count)
	}
	if _, err := c.typed.CoreV1().ConfigMaps(namespace).Create(ctx, configMap(marker), metav1.CreateOptions{}); err != nil {
		return err
	}
	select {
	case <-seen:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func typedInformer(ctx context.Context, c clients) error {
	factory := informers.NewSharedInformerFactory(c.typed, 0)
	informer := factory.Core().V1().ConfigMaps().Informer()
	if err := follow(ctx, c, informer, "typed-marker"); err != nil {
		return err
	}
	object, exists, err := informer.GetStore().GetByKey(namespace + "/item-0003")
	if err != nil || !exists {
		return fmt.Errorf("item-0003: %v", err)
	}
	listed, err := c.json.CoreV1().ConfigMaps(namespace).Get(ctx, "item-0003", metav1.GetOptions{})
	if err != nil {
		return err
	}
	if got := object.(*corev1.ConfigMap); string(got.BinaryData["bytes"]) != string(listed.BinaryData["bytes"]) ||
		got.ResourceVersion != listed.ResourceVersion || got.UID != listed.UID {
		return fmt.Errorf("%v is not %v", got, listed)
	}
	return nil
}

func manyInformers(ctx context.Context, c clients) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	factory := informers.NewSharedInformerFactory(c.typed, 0)
	deployments := factory.Apps().V1().Deployments().Informer()
	factory.Core().V1().Pods().Informer()
	factory.Core().V1().Secrets().Informer()
	factory.Core().V1().Nodes().Informer()
	factory.Rbac().V1().ClusterRoles().Informer()
	factory.Coordination().V1().Leases().Informer()
	factory.Start(ctx.Done())
	for kind, isSynced := range factory.WaitForCacheSync(ctx.Done()) {
		if !isSynced {
			return fmt.Errorf("%v never synced", kind)
		}
	}
	replicas := int32(3)
	_, err := c.typed.AppsV1().Deployments(namespace).Create(ctx, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
			},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	for ctx.Err() == nil {
		if _, exists, _ := deployments.GetStore().GetByKey(namespace + "/web"); exists {
			scale, err := c.typed.AppsV1().Deployments(namespace).GetScale(ctx, "web", metav1.GetOptions{})
			if err != nil {
				return err
			}
			if scale.Spec.Replicas != replicas {
				return fmt.Errorf("scale %v", scale)
			}
			return nil
		}
		time.Sleep(5 * time.Millisecond)
	}
	return ctx.Err()
}

func metadataInformer(ctx context.Context, c clients) error {
	factory := metadatainformer.NewSharedInformerFactory(c.metadata, 0)
	return follow(ctx, c, factory.ForResource(configMaps).Informer(), "metadata-marker")
}

func dynamicInformer(ctx context.Context, c clients) error {
	factory := dynamicinformer.NewDynamicSharedInformerFactory(c.dynamic, 0)
	return follow(ctx, c, factory.ForResource(configMaps).Informer(), "dynamic-marker")
}

func streamingList(ctx context.Context, c clients) error {
	isSent := true
	stream, err := c.typed.CoreV1().ConfigMaps(namespace).Watch(ctx, metav1.ListOptions{
		SendInitialEvents: &isSent, AllowWatchBookmarks: true,
		ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
	})
	if err != nil {
		return err
	}
	defer stream.Stop()
	count := 0
	for event := range stream.ResultChan() {
		switch event.Type {
		case watch.Added:
			count++
		case watch.Bookmark:
			end := event.Object.(*corev1.ConfigMap).Annotations[metav1.InitialEventsAnnotationKey]
			if end != "true" || count < objects {
				return fmt.Errorf("bookmark %q after %d objects", end, count)
			}
			return nil
		default:
			return fmt.Errorf("%v", event)
		}
	}
	return errors.New("the stream ended before its bookmark")
}

func apply(ctx context.Context, c clients) error {
	maps := c.typed.CoreV1().ConfigMaps(namespace)
	wanted := coreapply.ConfigMap("applied", namespace).WithData(map[string]string{"a": "1"})
	if _, err := maps.Apply(ctx, wanted, metav1.ApplyOptions{FieldManager: "one"}); err != nil {
		return err
	}
	other := coreapply.ConfigMap("applied", namespace).WithData(map[string]string{"a": "2"})
	_, err := maps.Apply(ctx, other, metav1.ApplyOptions{FieldManager: "two"})
	if !apierrors.IsConflict(err) {
		return fmt.Errorf("two managers of one field: %v", err)
	}
	if _, err := maps.Apply(ctx, other, metav1.ApplyOptions{FieldManager: "two", Force: true}); err != nil {
		return err
	}
	current, err := c.typed.AppsV1().Deployments(namespace).Get(ctx, "web", metav1.GetOptions{})
	if err != nil {
		return err
	}
	extracted, err := appsapply.ExtractDeployment(current, manager)
	if err != nil {
		return err
	}
	extracted.WithSpec(appsapply.DeploymentSpec().WithReplicas(5).
		WithSelector(metaapply.LabelSelector().WithMatchLabels(map[string]string{"app": "web"})).
		WithTemplate(coreapply.PodTemplateSpec().WithLabels(map[string]string{"app": "web"}).
			WithSpec(coreapply.PodSpec().WithContainers(coreapply.Container().WithName("c").WithImage("i")))))
	applied, err := c.typed.AppsV1().Deployments(namespace).Apply(ctx, extracted,
		metav1.ApplyOptions{FieldManager: manager, Force: true})
	if err != nil {
		return err
	}
	if *applied.Spec.Replicas != 5 {
		return fmt.Errorf("applied %v", applied.Spec)
	}
	return nil
}

func conflicts(ctx context.Context, c clients) error {
	maps := c.typed.CoreV1().ConfigMaps(namespace)
	if _, err := maps.Create(ctx, configMap("counter"), metav1.CreateOptions{}); err != nil {
		return err
	}
	const writers, rounds = 8, 10
	failures := make(chan error, writers)
	for range writers {
		go func() {
			for range rounds {
				err := retry.OnError(retry.DefaultBackoff, func(error) bool { return true }, func() error {
					current, err := maps.Get(ctx, "counter", metav1.GetOptions{})
					if err != nil {
						return err
					}
					current.Data["count"] += "x"
					_, err = maps.Update(ctx, current, metav1.UpdateOptions{})
					return err
				})
				for apierrors.IsConflict(err) {
					err = retry.RetryOnConflict(retry.DefaultBackoff, func() error {
						current, err := maps.Get(ctx, "counter", metav1.GetOptions{})
						if err != nil {
							return err
						}
						current.Data["count"] += "x"
						_, err = maps.Update(ctx, current, metav1.UpdateOptions{})
						return err
					})
				}
				if err != nil {
					failures <- err
					return
				}
			}
			failures <- nil
		}()
	}
	for range writers {
		if err := <-failures; err != nil {
			return err
		}
	}
	current, err := maps.Get(ctx, "counter", metav1.GetOptions{})
	if err != nil {
		return err
	}
	if got := len(current.Data["count"]); got != writers*rounds {
		return fmt.Errorf("%d of %d increments", got, writers*rounds)
	}
	return nil
}

func expiredWatch(ctx context.Context, c clients) error {
	stream, err := c.dynamic.Resource(configMaps).Namespace(namespace).Watch(ctx,
		metav1.ListOptions{ResourceVersion: "1"})
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer stream.Stop()
	for event := range stream.ResultChan() {
		if event.Type == watch.Error {
			if err := apierrors.FromObject(event.Object); !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
				return err
			}
			return nil
		}
		// A server that still has its whole history tells it instead.
		if _, isObject := event.Object.(*unstructured.Unstructured); isObject {
			return nil
		}
	}
	return errors.New("the stream ended without a word")
}

func election(ctx context.Context, c clients) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lock := &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Name: "leader", Namespace: namespace},
		Client:     c.typed.CoordinationV1(),
		LockConfig: resourcelock.ResourceLockConfig{Identity: manager},
	}
	led := make(chan struct{})
	leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
		Lock: lock, LeaseDuration: 4 * time.Second, RenewDeadline: 3 * time.Second,
		RetryPeriod: 500 * time.Millisecond, ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { close(led); cancel() },
			OnStoppedLeading: func() {},
		},
	})
	select {
	case <-led:
		return nil
	default:
		return errors.New("never led")
	}
}
