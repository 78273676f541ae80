#include "machine/identity.h"

#include <fmt/format.h>
#include <cctype>

namespace ridge::machine {
namespace {

// FNV-1a, 64 bits (draft-eastlake-fnv): stable over builds and machines, which std::hash is not.
uint64_t fnv1a(const std::string& text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (char character : text) hash = (hash ^ static_cast<unsigned char>(character)) * 0x100000001b3;
  return hash;
}

// Lower-case words joined by '-': fit for file names and terminals.
std::string slug(const std::string& text) {
  std::string result;
  for (char character : text) {
    auto byte = static_cast<unsigned char>(character);
    if (std::isalnum(byte) && byte < 0x80)
      result += static_cast<char>(std::tolower(byte));
    else if (!result.empty() && result.back() != '-')
      result += '-';
  }
  while (!result.empty() && result.back() == '-') result.pop_back();
  return result.substr(0, 40);
}

}  // namespace

std::string machine_id(const Machine& machine) {
  const Cpu& cpu = machine.cpu;
  std::string facts = fmt::format("{}|{}|{} cores|{} CPUs|{} allowed on {} cores|", cpu.model, cpu.vendor,
                                  cpu.physical_cores, cpu.logical_cpus, cpu.allowed_cpus, cpu.allowed_cores);
  facts += cpu.quota ? fmt::format("quota {:.3f}|", *cpu.quota) : "no quota|";
  for (const std::string& name : cpu.isa) facts += name + ' ';
  for (const Cache& cache : cpu.caches)
    facts += fmt::format("|L{} {} x {}", cache.level, cache.instances, cache.size_bytes);
  facts += fmt::format("|{}|limits {}", machine.system, kLimitsVersion);
  return fmt::format("{}-{}c-{:016x}", slug(cpu.model), cpu.allowed_cores, fnv1a(facts));
}

}  // namespace ridge::machine
