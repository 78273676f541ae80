#include <hwloc.h>

#include <memory>

#include "machine/topology.h"

namespace ridge::machine {
namespace {

struct Destroy {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using Handle = std::unique_ptr<hwloc_topology, Destroy>;

Result<Handle> load() {
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0) return Error{Code::kFailed, "hwloc could not be initialised"};
  Handle handle(topology);
  // The whole machine: probe.cc decides what this process may use.
  hwloc_topology_set_flags(topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
  hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE);
  if (hwloc_topology_load(topology) != 0) return Error{Code::kFailed, "hwloc could not read this machine's topology"};
  return handle;
}

std::vector<int> numbers(hwloc_const_cpuset_t set) {
  std::vector<int> ids;
  if (hwloc_bitmap_weight(set) < 0) return ids;  // infinite: no list
  for (int id = hwloc_bitmap_first(set); id >= 0; id = hwloc_bitmap_next(set, id)) ids.push_back(id);
  return ids;
}

// Calls `use` for every object of `type`.
template <typename Use>
void for_each(hwloc_topology_t topology, hwloc_obj_type_t type, const Use& use) {
  for (hwloc_obj_t object = nullptr; (object = hwloc_get_next_obj_by_type(topology, type, object)) != nullptr;)
    use(*object);
}

}  // namespace

Result<Topology> topology_by_hwloc() {
  RIDGE_ASSIGN(Handle handle, load());
  Topology topology;
  for (int id : numbers(hwloc_topology_get_topology_cpuset(handle.get()))) {
    hwloc_obj_t cpu = hwloc_get_pu_obj_by_os_index(handle.get(), static_cast<unsigned>(id));
    hwloc_obj_t core = cpu ? hwloc_get_ancestor_obj_by_type(handle.get(), HWLOC_OBJ_CORE, cpu) : nullptr;
    // If cores are not distinguished, each CPU counts as one; numbers beyond those of real cores.
    int core_index = core ? static_cast<int>(core->logical_index) : (1 << 16) + id;
    topology.cpus.push_back({id, core_index});
  }
  for (hwloc_obj_type_t type : {HWLOC_OBJ_L1CACHE, HWLOC_OBJ_L2CACHE, HWLOC_OBJ_L3CACHE})
    for_each(handle.get(), type, [&](const hwloc_obj& cache) {
      topology.caches.push_back({static_cast<int>(cache.attr->cache.depth),
                                 static_cast<int64_t>(cache.attr->cache.size), numbers(cache.cpuset)});
    });
  for_each(handle.get(), HWLOC_OBJ_NUMANODE, [&](const hwloc_obj& node) {
    topology.nodes.push_back({static_cast<int>(node.os_index), static_cast<int64_t>(node.attr->numanode.local_memory),
                              numbers(node.cpuset)});
  });
  if (topology.cpus.empty()) return Error{Code::kFailed, "hwloc found no CPU"};
  return topology;
}

}  // namespace ridge::machine
