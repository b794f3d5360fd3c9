# Definitions of a file, published and shaped like such, by Ruby's kubeclient: the object of each lives its life,
# and a watch tells of it.
#
#   ruby definitions.rb KUBECONFIG FILE
require "json"
require "kubeclient"

context = Kubeclient::Config.read(ARGV.fetch(0)).context
CONNECT = lambda do |path, version|
  Kubeclient::Client.new(
    context.api_endpoint + path, version,
    ssl_options: context.ssl_options, auth_options: context.auth_options
  )
end
DEFINITIONS = CONNECT.call("/apis/apiextensions.k8s.io", "v1")
SAMPLES = JSON.parse(File.read(ARGV.fetch(1)), symbolize_names: true)

def assert(condition, what)
  raise what.inspect unless condition
end

def live(sample)
  DEFINITIONS.create_custom_resource_definition(Kubeclient::Resource.new(sample[:definition]))
  object = sample[:object]
  name = object[:metadata][:name]
  namespace = sample[:namespaced] ? "default" : nil
  group, version = object[:apiVersion].split("/")
  client = CONNECT.call("/apis/#{group}", version)
  client.discover
  # How the library calls the kind's methods.
  entity = client.instance_variable_get(:@entities).values.find { |one| one.resource_name == sample[:plural] }
  before = client.get_entities(entity.entity_type, entity.resource_name, namespace: namespace).resourceVersion
  body = ->(labels) { object.merge(metadata: { name: name, namespace: namespace, labels: labels }.compact) }
  client.create_entity(entity.entity_type, entity.resource_name, Kubeclient::Resource.new(body.call({})))
  applied = client.apply_entity(entity.resource_name, body.call({ color: "red" }), field_manager: "definitions", force: true)
  assert(applied.metadata.labels.color == "red", applied)
  patch = { metadata: { labels: { color: "blue" } } }
  client.patch_entity(entity.resource_name, name, patch, "merge-patch", namespace)
  { "blue" => 1, "red" => 0 }.each do |color, wanted|
    listed = client.get_entities(
      entity.entity_type, entity.resource_name, namespace: namespace, label_selector: "color=#{color}"
    )
    assert(listed.length == wanted, listed)
  end
  client.delete_entity(entity.resource_name, name, namespace)
  assert(told(client, entity, namespace, before) == %w[ADDED MODIFIED MODIFIED DELETED], "what a watch tells")
  DEFINITIONS.delete_custom_resource_definition(sample[:definition][:metadata][:name])
end

def told(client, entity, namespace, version)
  events = []
  watcher = client.watch_entities(entity.resource_name, namespace: namespace, resource_version: version)
  watcher.each do |notice|
    events << notice.type
    watcher.finish if notice.type == "DELETED"
  end
  events
end

SAMPLES.each do |sample|
  live(sample)
rescue StandardError
  puts "not ok - #{sample[:definition][:metadata][:name]}"
  raise
end
puts "ok - #{SAMPLES.length} definitions: created, applied, patched, listed, watched, deleted"
