#include "machine/drm_clients.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>
#include <utility>

#include "base/proc_text.h"

namespace ridge::machine {
namespace {

// "23992 KiB" in bytes, "28257900 ns" in nanoseconds.
uint64_t quantity(const std::string& text) {
  char* end = nullptr;
  const uint64_t number = std::strtoull(text.c_str(), &end, 10);
  const std::string_view unit = trim(end);
  return unit == "KiB" ? number << 10 : unit == "MiB" ? number << 20 : number;
}

// Names of the GPU's own memory: vram (amdgpu), vram0 (xe), local0 (i915).
bool is_own_memory(std::string_view region) { return region.starts_with("vram") || region.starts_with("local"); }

// The rest of `key` after `prefix`.
bool strip(std::string_view key, std::string_view prefix, std::string& rest) {
  if (!key.starts_with(prefix)) return false;
  rest = key.substr(prefix.size());
  return true;
}

// The key that states most precisely what is in memory comes first.
constexpr std::string_view kMemoryKeys[] = {"drm-resident-", "drm-memory-", "drm-total-"};

DrmClient client_of(const std::string& text) {
  DrmClient client;
  std::map<std::string, std::pair<size_t, uint64_t>> memory;  // region → which of kMemoryKeys, bytes
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line(text.data() + begin, end - begin);
    begin = end + 1;
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    const std::string_view key = line.substr(0, colon);
    const std::string value(trim(line.substr(colon + 1)));
    std::string name;
    if (key == "drm-pdev") client.pci_address = value;
    if (key == "drm-client-id") client.id = value;
    if (strip(key, "drm-engine-capacity-", name))
      client.engines[name].capacity = std::max<int64_t>(1, to_number(value).value_or(1));
    else if (strip(key, "drm-engine-", name))
      client.engines[name].busy_ns = quantity(value);
    else if (strip(key, "drm-cycles-", name))
      client.engines[name].cycles = quantity(value);
    else if (strip(key, "drm-total-cycles-", name))
      client.engines[name].total_cycles = quantity(value);
    for (size_t rank = 0; rank < std::size(kMemoryKeys); ++rank) {
      if (!strip(key, kMemoryKeys[rank], name) || !is_own_memory(name)) continue;
      auto [known, added] = memory.try_emplace(name, rank, quantity(value));
      if (!added && rank < known->second.first) known->second = {rank, quantity(value)};
    }
  }
  for (const auto& [region, known] : memory) client.memory_bytes += static_cast<int64_t>(known.second);
  return client;
}

const DrmClient* same_client(const std::vector<DrmClient>& clients, const DrmClient& other) {
  for (const DrmClient& client : clients)
    if (client.pci_address == other.pci_address && client.id == other.id) return &client;
  return nullptr;
}

double grown(uint64_t before, uint64_t after) { return after > before ? static_cast<double>(after - before) : 0; }

}  // namespace

std::vector<DrmClient> drm_clients(const std::map<std::string, std::string>& files) {
  std::vector<DrmClient> clients;
  constexpr std::string_view kProcesses = "proc/";
  for (const auto& [path, text] : files) {
    if (!path.starts_with(kProcesses)) continue;
    DrmClient client = client_of(text);
    client.process = std::strtoll(path.c_str() + kProcesses.size(), nullptr, 10);
    if (!client.pci_address.empty() && same_client(clients, client) == nullptr) clients.push_back(std::move(client));
  }
  return clients;
}

std::vector<gpu::GpuProcess> processes_of(const std::vector<DrmClient>& clients, const std::string& pci_address) {
  std::map<int64_t, int64_t> bytes;
  for (const DrmClient& client : clients)
    if (client.pci_address == pci_address) bytes[client.process] += client.memory_bytes;
  std::vector<gpu::GpuProcess> processes;
  for (const auto& [process, held] : bytes) processes.push_back({process, held});
  return processes;
}

int64_t engine_percent(const std::vector<DrmClient>& before, const std::vector<DrmClient>& after,
                       const std::string& pci_address, uint64_t elapsed_ns) {
  std::map<std::string, double> shares;
  for (const DrmClient& now : after) {
    const DrmClient* then = now.pci_address == pci_address ? same_client(before, now) : nullptr;
    if (then == nullptr) continue;
    for (const auto& [name, engine] : now.engines) {
      auto known = then->engines.find(name);
      if (known == then->engines.end()) continue;
      const double ticks = grown(known->second.total_cycles, engine.total_cycles);
      const double share = ticks > 0 ? grown(known->second.cycles, engine.cycles) / ticks
                                     : grown(known->second.busy_ns, engine.busy_ns) / static_cast<double>(elapsed_ns);
      shares[name] += share / static_cast<double>(engine.capacity);
    }
  }
  double most = 0;
  for (const auto& [name, share] : shares) most = std::max(most, share);
  return std::llround(std::min(most, 1.0) * 100);
}

}  // namespace ridge::machine
