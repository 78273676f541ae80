#include "doctor/inventory.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "catalogue/capability.h"
#include "catalogue/catalogue.h"
#include "doctor/facts.h"
#include "doctor/gather_gpus.h"

namespace ridge::doctor {
namespace {

// The NVIDIA driver library's report on the GPU at this address.
std::optional<int64_t> driver_figure(const Json& devices, const std::string& address, const char* member) {
  if (!devices.is_array()) return std::nullopt;
  for (const Json& device : devices) {
    Result<std::string> its = json_member_or<std::string>(device, "pci_address", "");
    Result<int64_t> figure = json_member_or<int64_t>(device, member, 0);
    auto slice = device.find("mig_uuid");  // a slice has the address of its GPU
    if (slice != device.end() && !slice->is_null()) continue;
    if (its && *its == address && figure && *figure > 0) return *figure;
  }
  return std::nullopt;
}

void set_multiprocessors(InventoryGpu& entry) {
  entry.multiprocessors_origin = Origin::kDerived;
  if (!entry.gpu.cores || !entry.gpu.compute_capability) return;
  Result<std::vector<catalogue::Capability>> all = catalogue::capabilities();
  if (!all) return;
  Result<catalogue::Capability> capability = catalogue::find_capability(*all, *entry.gpu.compute_capability);
  if (capability && capability->fp32_lanes.value_or(0) > 0)
    entry.multiprocessors = *entry.gpu.cores / *capability->fp32_lanes;
}

void set_cache(InventoryGpu& entry) {
  entry.l2_origin = Origin::kDatasheet;
  if (!entry.gpu.name) return;
  Result<std::vector<catalogue::CatalogueDevice>> devices = catalogue::catalogue();
  if (!devices) return;
  Result<catalogue::CatalogueDevice> device = catalogue::find_device(*devices, *entry.gpu.name);
  if (device && device->l2_bytes) entry.l2_bytes = static_cast<int64_t>(*device->l2_bytes);
}

InventoryGpu entry_for(const machine::Tree& tree, const Json& driver, std::string_view vendor, const gpu::Gpu& gpu) {
  InventoryGpu entry;
  entry.vendor = vendor;
  entry.gpu = gpu;
  const std::string address = gpu.pci_address ? *gpu.pci_address : "";
  const std::string folder = "sys/bus/pci/devices/" + address + "/";
  if (!address.empty()) {
    entry.numa_node = machine::number_at(tree, folder + "numa_node");
    if (entry.numa_node && *entry.numa_node < 0) entry.numa_node.reset();
    entry.cpus = machine::text_at(tree, folder + "local_cpulist").value_or("");
    entry.multiprocessors = driver_figure(driver, address, "multiprocessors");
    entry.l2_bytes = driver_figure(driver, address, "l2_bytes");
  }
  if (!entry.multiprocessors) set_multiprocessors(entry);
  if (!entry.l2_bytes) set_cache(entry);
  return entry;
}

bool is_gpu(const std::string& address, const std::vector<InventoryGpu>& all) {
  return std::any_of(all.begin(), all.end(), [&](const InventoryGpu& entry) {
    return entry.gpu.pci_address && *entry.gpu.pci_address == address;
  });
}

// Active links that lead to no GPU but to switches; by the switch's address.
std::multiset<std::string> links_to_switches(const gpu::Gpu& gpu, const std::vector<InventoryGpu>& all) {
  std::multiset<std::string> switches;
  for (const gpu::PeerLink& link : gpu.links)
    if (link.up && link.remote && !is_gpu(*link.remote, all)) switches.insert(*link.remote);
  return switches;
}

// From the bus: for GPUs of one library its report; else whether they are on different memory nodes.
std::string bus_level(const InventoryGpu& one, const InventoryGpu& other, const std::vector<gpu::GpuPair>& pairs) {
  for (const gpu::GpuPair& pair : pairs) {
    const bool meant = (pair.first == one.gpu.index && pair.second == other.gpu.index) ||
                       (pair.first == other.gpu.index && pair.second == one.gpu.index);
    if (one.vendor == "NVIDIA" && other.vendor == "NVIDIA" && meant) return pair.level ? *pair.level : "-";
  }
  return one.numa_node && other.numa_node && *one.numa_node != *other.numa_node ? "SYS" : "-";
}

void fill_matrix(Inventory& inventory, const std::vector<gpu::GpuPair>& pairs) {
  const size_t count = inventory.gpus.size();
  inventory.matrix.assign(count, std::vector<std::string>(count, "X"));
  for (size_t i = 0; i < count; ++i)
    for (size_t j = 0; j < count; ++j) {
      if (i == j) continue;
      const InventoryGpu &one = inventory.gpus[i], &other = inventory.gpus[j];
      const int64_t links = links_between(one.gpu, other.gpu, inventory.gpus);
      inventory.matrix[i][j] = links > 0 ? fmt::format("NV{}", links) : bus_level(one, other, pairs);
    }
}

template <typename T>
Json figure_json(const std::optional<T>& value, Origin origin) {
  return value ? Json{{"value", *value}, {"origin", origin_name(origin)}} : Json();
}

}  // namespace

int64_t links_between(const gpu::Gpu& gpu, const gpu::Gpu& other, const std::vector<InventoryGpu>& all) {
  int64_t direct = 0, switched = 0;
  for (const gpu::PeerLink& link : gpu.links)
    if (link.up && link.remote && other.pci_address && *link.remote == *other.pci_address) ++direct;
  if (direct > 0) return direct;
  std::multiset<std::string> own = links_to_switches(gpu, all), its = links_to_switches(other, all);
  for (const std::string& address : std::set<std::string>(own.begin(), own.end()))
    switched += static_cast<int64_t>(std::min(own.count(address), its.count(address)));
  return switched;
}

Inventory inventory_of(const machine::Tree& tree) {
  Inventory inventory;
  Result<Json> driver = machine::json_at(tree, entry::kCuda);
  std::vector<gpu::GpuPair> pairs;
  for (const VendorsSystem& vendor : gpus_in(tree)) {
    if (!vendor.system) continue;
    for (const gpu::Gpu& gpu : vendor.system->gpus)
      inventory.gpus.push_back(entry_for(tree, driver ? *driver : Json(), machine::vendor_name(vendor.vendor), gpu));
    if (vendor.vendor == machine::GpuVendor::kNvidia) pairs = vendor.system->pairs;
  }
  fill_matrix(inventory, pairs);
  return inventory;
}

Json to_json(const Inventory& inventory) {
  Json gpus = Json::array();
  for (const InventoryGpu& entry : inventory.gpus) {
    Json gpu = {{"maker", entry.vendor},
                {"numa_node", entry.numa_node ? Json(*entry.numa_node) : Json()},
                {"processors", entry.cpus},
                {"multiprocessors", figure_json(entry.multiprocessors, entry.multiprocessors_origin)},
                {"l2_bytes", figure_json(entry.l2_bytes, entry.l2_origin)}};
    gpu.update(json_of(entry.gpu));
    gpus.push_back(std::move(gpu));
  }
  return {{"cards", gpus}, {"topology", inventory.matrix}};
}

}  // namespace ridge::doctor
