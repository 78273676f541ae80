#include "serve/instance_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "model_config.pb.h"

namespace ridge::serve {
namespace {

using Group = inference::ModelInstanceGroup;

// More than any machine can use; a typing error.
constexpr int kMaxInstances = 1024;
constexpr int kMaxGpu = 255;

bool has_all(const Group& group, std::span<const int> gpus) {
  return std::all_of(group.gpus().begin(), group.gpus().end(),
                     [&](int gpu) { return std::find(gpus.begin(), gpus.end(), gpu) != gpus.end(); });
}

void put_on_all(Group& group, std::span<const int> gpus) {
  for (int gpu : gpus) group.add_gpus(gpu);
  if (gpus.empty()) group.add_gpus(0);
}

void place(Group& group, std::span<const int> gpus) {
  if (group.count() == 0) group.set_count(1);
  if (group.kind() == Group::KIND_AUTO) {
    const bool fits = !gpus.empty() && has_all(group, gpus);
    group.set_kind(fits ? Group::KIND_GPU : Group::KIND_CPU);
    if (!fits) group.clear_gpus();
  }
  if (group.kind() == Group::KIND_GPU && group.gpus().empty()) put_on_all(group, gpus);
}

Status check_group(const Group& group) {
  if (group.count() < 0) return invalid(fmt::format("instance group '{}' has a negative count", group.name()));
  if ((group.kind() == Group::KIND_CPU || group.kind() == Group::KIND_MODEL) && group.gpus_size() > 0)
    return invalid(fmt::format("instance group '{}' is of {} but lists gpus; give one or the other", group.name(),
                               Group::Kind_Name(group.kind())));
  for (int gpu : group.gpus())
    if (gpu < 0 || gpu > kMaxGpu)
      return invalid(fmt::format("instance group '{}' lists gpu {}, which is not a GPU number", group.name(), gpu));
  return {};
}

}  // namespace

Status check_instance_groups(const inference::ModelConfig& config) {
  int64_t total = 0;
  for (const Group& group : config.instance_group()) {
    RIDGE_TRY(check_group(group));
    total += int64_t{std::max(1, group.count())} * std::max(1, group.gpus_size());  // no count means one
  }
  if (total > kMaxInstances)
    return invalid(fmt::format("{} instances are more than the limit of {}", total, kMaxInstances));
  return {};
}

ConfigPtr place_instances(const inference::ModelConfig& config, std::span<const int> gpus) {
  auto placed = std::make_shared<inference::ModelConfig>(config);
  if (placed->instance_group_size() == 0) placed->add_instance_group();
  for (Group& group : *placed->mutable_instance_group()) place(group, gpus);
  return placed;
}

std::vector<plan::Device> devices_of(const inference::ModelConfig& placed) {
  std::vector<plan::Device> devices;
  auto add = [&](const Group& group, const plan::Device& device) {
    devices.insert(devices.end(), static_cast<size_t>(std::max(1, group.count())), device);
  };
  for (const Group& group : placed.instance_group()) {
    if (group.kind() != Group::KIND_GPU) add(group, {});
    for (int gpu : group.gpus()) add(group, {plan::DeviceKind::kCuda, gpu});
  }
  return devices;
}

std::vector<HostPolicy> host_policies_of(const inference::ModelConfig& placed, std::span<const HostPolicy> policies) {
  std::vector<HostPolicy> hosts;
  for (const Group& group : placed.instance_group()) {
    const auto add = [&](const std::string& usual) {
      const std::string& name = group.host_policy().empty() ? usual : group.host_policy();
      const auto found = std::ranges::find(policies, name, &HostPolicy::name);
      hosts.insert(hosts.end(), static_cast<size_t>(std::max(1, group.count())),
                   found == policies.end() ? HostPolicy() : *found);
    };
    if (group.kind() != Group::KIND_GPU) add(group.kind() == Group::KIND_MODEL ? "model" : "cpu");
    for (const int gpu : group.gpus()) add("gpu_" + std::to_string(gpu));
  }
  return hosts;
}

}  // namespace ridge::serve
