# Ruby's kubeclient against a running server: a definition, objects of it and ConfigMaps through their
# lives. Prints one line for each thing that it saw working; ends with a trace at the first that does not.
#
#   ruby main.rb KUBECONFIG NAMESPACE
require "kubeclient"

GROUP = "ruby.example.com"
NAMESPACE = ARGV.fetch(1)
OBJECTS = 25

context = Kubeclient::Config.read(ARGV.fetch(0)).context
connect = lambda do |path, version|
  Kubeclient::Client.new(
    context.api_endpoint + path, version,
    ssl_options: context.ssl_options, auth_options: context.auth_options
  )
end
CORE = connect.call("", "v1")
DEFINITIONS = connect.call("/apis/apiextensions.k8s.io", "v1")
GEMS = -> { @gems ||= connect.call("/apis/#{GROUP}", "v1") }

def assert(condition, what)
  raise what.inspect unless condition
end

def refused(status)
  yield
  raise "#{status} expected"
rescue Kubeclient::HttpError => e
  assert(e.error_code == status, e)
  e.message
end

def gem(name, weight = 1)
  Kubeclient::Resource.new(
    apiVersion: "#{GROUP}/v1", kind: "Jewel",
    metadata: { name: name, namespace: NAMESPACE, labels: { "made-by" => "ruby" } },
    spec: { weight: weight }
  )
end

def config_map(name)
  Kubeclient::Resource.new(metadata: { name: name, namespace: NAMESPACE }, data: { a: "ä" })
end

def define
  text = { type: "string" }
  spec = {
    type: "object", required: ["weight"],
    properties: { weight: { type: "integer", minimum: 1 }, color: text.merge(default: "red") }
  }
  status = { type: "object", properties: { phase: text } }
  schema = { type: "object", properties: { spec: spec, status: status } }
  made = DEFINITIONS.create_custom_resource_definition(
    Kubeclient::Resource.new(
      metadata: { name: "jewels.#{GROUP}" },
      spec: {
        group: GROUP, scope: "Namespaced", names: { plural: "jewels", kind: "Jewel" },
        versions: [{
          name: "v1", served: true, storage: true,
          schema: { openAPIV3Schema: schema }, subresources: { status: {} }
        }]
      }
    )
  )
  established = made.status.conditions.find { |one| one.type == "Established" }
  assert(established.status == "True", made.status)
end

def objects
  # The very next requests: discovery and a write; nothing is waited for.
  first = GEMS.call.create_jewel(gem("first"))
  assert(first.spec.to_h == { weight: 1, color: "red" }, first)
  assert(refused(422) { GEMS.call.create_jewel(gem("bad", 0)) }.include?("spec.weight"), "words")
  OBJECTS.times { |at| GEMS.call.create_jewel(gem(format("j%03d", at), at + 1)) }
  first.spec.weight = 2
  changed = GEMS.call.update_jewel(first)
  assert(changed.metadata.generation == 2, changed)
  refused(409) { GEMS.call.update_jewel(first) }
  patched = GEMS.call.merge_patch_jewel("first", { spec: { color: "blue" } }, NAMESPACE)
  assert(patched.spec.color == "blue", patched)
end

def pages
  names = []
  token = nil
  loop do
    page = GEMS.call.get_jewels(
      namespace: NAMESPACE, label_selector: "made-by=ruby", limit: 7, continue: token
    )
    assert(page.length <= 7, page)
    names += page.map { |one| one.metadata.name }
    token = page.continue
    break if page.last?
  end
  assert(names == names.sort && names.length == OBJECTS + 1, names)
end

def status
  GEMS.call.rest_client["namespaces/#{NAMESPACE}/jewels/first/status"].patch(
    { spec: { weight: 9 }, status: { phase: "Cut" } }.to_json,
    { "Content-Type" => "application/merge-patch+json" }.merge(GEMS.call.headers)
  )
  read = GEMS.call.get_jewel("first", NAMESPACE)
  assert(read.status.phase == "Cut" && read.spec.weight == 2, read)
end

# What comes after the list is told, in order.
def watches(list, watch, make)
  version = list.call.resourceVersion
  maker = Thread.new { 3.times { |at| make.call("watched-#{at}") } }
  seen = []
  watcher = watch.call(version)
  watcher.each do |notice|
    next unless notice.object.metadata.name.start_with?("watched-")

    seen << [notice.type, notice.object.metadata.name]
    watcher.finish if seen.length == 3
  end
  maker.join
  assert(seen == Array.new(3) { |at| ["ADDED", "watched-#{at}"] }, seen)
end

def custom_watch
  watches(
    -> { GEMS.call.get_jewels(namespace: NAMESPACE) },
    ->(version) { GEMS.call.watch_jewels(namespace: NAMESPACE, resource_version: version) },
    ->(name) { GEMS.call.create_jewel(gem(name)) }
  )
end

def apply
  applied = GEMS.call.apply_jewel(gem("applied", 3).to_h, field_manager: "ruby")
  assert(applied.metadata.managedFields.map(&:manager) == ["ruby"], applied)
  refused(409) { GEMS.call.apply_jewel(gem("applied", 4).to_h, field_manager: "else", force: false) }
end

def built_in
  CORE.create_config_map(config_map("settings"))
  CORE.merge_patch_config_map("settings", { data: { b: "1", a: nil } }, NAMESPACE)
  assert(CORE.get_config_map("settings", NAMESPACE).data.to_h == { b: "1" }, "patched")
  watches(
    -> { CORE.get_config_maps(namespace: NAMESPACE) },
    ->(version) { CORE.watch_config_maps(namespace: NAMESPACE, resource_version: version) },
    ->(name) { CORE.create_config_map(config_map(name)) }
  )
  CORE.delete_config_map("settings", NAMESPACE)
  refused(404) { CORE.get_config_map("settings", NAMESPACE) }
end

def remove
  GEMS.call.delete_jewel("first", NAMESPACE)
  refused(404) { GEMS.call.get_jewel("first", NAMESPACE) }
  GEMS.call.delete_jewels(namespace: NAMESPACE) if GEMS.call.respond_to?(:delete_jewels)
  DEFINITIONS.delete_custom_resource_definition("jewels.#{GROUP}")
end

CHECKS = {
  "a definition is established as soon as it is created" => :define,
  "objects: defaults, refusals, replacements, patches and conflicts" => :objects,
  "lists in pages of 7" => :pages,
  "the status is patched by itself" => :status,
  "a watch of a custom kind" => :custom_watch,
  "apply, and a conflict" => :apply,
  "ConfigMaps: writes, patch, watch" => :built_in,
  "deletion of one, and of the definition" => :remove
}.freeze

puts "kubeclient #{Kubeclient::VERSION}, Ruby #{RUBY_VERSION}"
CHECKS.each do |name, check|
  send(check)
  puts "ok - #{name}"
  $stdout.flush
end
