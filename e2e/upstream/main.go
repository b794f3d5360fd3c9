// The existing API for custom resources, as its own library has it, without authentication: the peer of
// compare.ts. Services and namespaces are read from the server that --kubeconfig names.
package main

import (
	"flag"
	"os"

	"github.com/spf13/pflag"
	extensionsapiserver "k8s.io/apiextensions-apiserver/pkg/apiserver"
	"k8s.io/apiextensions-apiserver/pkg/cmd/server/options"
	generatedopenapi "k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	openapinamer "k8s.io/apiserver/pkg/endpoints/openapi"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/util/openapi"
	"k8s.io/klog/v2"
)

func main() {
	klog.InitFlags(flag.CommandLine)
	fs := pflag.NewFlagSet("upstream", pflag.ExitOnError)
	s := options.NewCustomResourceDefinitionsServerOptions(os.Stdout, os.Stderr)
	s.AddFlags(fs)
	fs.Parse(os.Args[1:])
	s.RecommendedOptions.Authentication = nil
	s.RecommendedOptions.Authorization = nil
	must(s.Complete())
	must(s.Validate())
	config, err := s.Config()
	must(err)
	namer := openapinamer.NewDefinitionNamer(extensionsapiserver.Scheme)
	config.GenericConfig.OpenAPIConfig = genericapiserver.DefaultOpenAPIConfig(openapi.GetOpenAPIDefinitionsWithoutDisabledFeatures(generatedopenapi.GetOpenAPIDefinitions), namer)
	server, err := config.Complete().New(genericapiserver.NewEmptyDelegate())
	must(err)
	must(server.GenericAPIServer.PrepareRun().RunWithContext(genericapiserver.SetupSignalContext()))
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
