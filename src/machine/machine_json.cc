#include <nlohmann/json.hpp>

#include "base/json.h"
#include "machine/machine.h"

namespace ridge::machine {
namespace {

Json cpu_json(const Cpu& cpu) {
  Json json = {{"model", cpu.model},
               {"vendor", cpu.vendor},
               {"physical_cores", cpu.physical_cores},
               {"logical_processors", cpu.logical_cpus},
               {"allowed_processors", cpu.allowed_cpus},
               {"allowed_cores", cpu.allowed_cores},
               {"processors", cpu.cpus},
               {"core_processors", cpu.core_cpus},
               {"quota", cpu.quota ? Json(*cpu.quota) : Json()},
               {"isa", cpu.isa},
               {"caches", Json::array()},
               {"numa", Json::array()}};
  for (const Cache& cache : cpu.caches)
    json["caches"].push_back(
        {{"level", cache.level}, {"size_bytes", cache.size_bytes}, {"instances", cache.instances}});
  for (const NumaNode& node : cpu.numa)
    json["numa"].push_back({{"id", node.id}, {"memory_bytes", node.memory_bytes}, {"processors", node.cpus}});
  return json;
}

Json memory_json(const Memory& memory) {
  return {{"total_bytes", memory.total_bytes},
          {"available_bytes", memory.available_bytes},
          {"limit_bytes", memory.limit_bytes ? Json(*memory.limit_bytes) : Json()}};
}

Json peak_json(const Peak& peak) {
  return {{"precision", precision_name(peak.precision)},
          {"threads", peak.threads},
          {"flops_per_s", peak.flops_per_s},
          {"kernel", peak.kernel},
          {"origin", origin_name(peak.origin)},
          {"spread_percent", peak.spread_percent},
          {"clock_hz", peak.clock_hz}};
}

Json bandwidth_json(const Bandwidth& bandwidth) {
  return {{"level", bandwidth.level},
          {"threads", bandwidth.threads},
          {"bytes_per_s", bandwidth.bytes_per_s},
          {"plain_bytes_per_s", bandwidth.plain_bytes_per_s},
          {"triad_bytes_per_s", bandwidth.triad_bytes_per_s},
          {"kernel", bandwidth.kernel},
          {"origin", origin_name(bandwidth.origin)},
          {"spread_percent", bandwidth.spread_percent},
          {"working_set_bytes", bandwidth.working_set_bytes}};
}

Status read_int(const Json& json, const char* key, int& into) {
  RIDGE_ASSIGN(int64_t value, json_member<int64_t>(json, key));
  if (value < 0 || value > INT32_MAX)
    return Error{Code::kInvalid, std::string("member '") + key + "' is out of range: " + std::to_string(value)};
  into = static_cast<int>(value);
  return {};
}

Status read_numbers(const Json& json, const char* key, std::vector<int>& into) {
  return read_array(json, key, [&](const Json& element) -> Status {
    if (!element.is_number_integer()) return Error{Code::kInvalid, "expected integers"};
    into.push_back(element.get<int>());
    return {};
  });
}

Result<Cache> cache_from_json(const Json& json) {
  Cache cache;
  RIDGE_TRY(read_int(json, "level", cache.level));
  RIDGE_ASSIGN(cache.size_bytes, json_member<int64_t>(json, "size_bytes"));
  RIDGE_TRY(read_int(json, "instances", cache.instances));
  return cache;
}

Result<NumaNode> node_from_json(const Json& json) {
  NumaNode node;
  RIDGE_TRY(read_int(json, "id", node.id));
  RIDGE_ASSIGN(node.memory_bytes, json_member<int64_t>(json, "memory_bytes"));
  RIDGE_TRY(read_int(json, "processors", node.cpus));
  return node;
}

Result<Cpu> cpu_from_json(const Json& json) {
  Cpu cpu;
  RIDGE_ASSIGN(cpu.model, json_member<std::string>(json, "model"));
  RIDGE_ASSIGN(cpu.vendor, json_member<std::string>(json, "vendor"));
  RIDGE_TRY(read_int(json, "physical_cores", cpu.physical_cores));
  RIDGE_TRY(read_int(json, "logical_processors", cpu.logical_cpus));
  RIDGE_TRY(read_int(json, "allowed_processors", cpu.allowed_cpus));
  RIDGE_TRY(read_int(json, "allowed_cores", cpu.allowed_cores));
  RIDGE_TRY(read_numbers(json, "processors", cpu.cpus));
  RIDGE_TRY(read_numbers(json, "core_processors", cpu.core_cpus));
  RIDGE_TRY(read_optional(json, "quota", cpu.quota));
  RIDGE_TRY(read_strings(json, "isa", cpu.isa));
  RIDGE_TRY(read_array(json, "caches", [&](const Json& element) -> Status {
    RIDGE_ASSIGN(Cache cache, cache_from_json(element));
    cpu.caches.push_back(cache);
    return {};
  }));
  RIDGE_TRY(read_array(json, "numa", [&](const Json& element) -> Status {
    RIDGE_ASSIGN(NumaNode node, node_from_json(element));
    cpu.numa.push_back(node);
    return {};
  }));
  return cpu;
}

Result<Memory> memory_from_json(const Json& json) {
  Memory memory;
  RIDGE_ASSIGN(memory.total_bytes, json_member<int64_t>(json, "total_bytes"));
  RIDGE_ASSIGN(memory.available_bytes, json_member<int64_t>(json, "available_bytes"));
  RIDGE_TRY(read_optional(json, "limit_bytes", memory.limit_bytes));
  return memory;
}

// A limit of zero or less would divide by zero further on.
Result<double> rate_from_json(const Json& json, const char* key) {
  RIDGE_ASSIGN(double value, json_member<double>(json, key));
  if (value <= 0) return Error{Code::kInvalid, std::string("member '") + key + "' should be above 0"};
  return value;
}

Result<Origin> origin_from_json(const Json& json) {
  RIDGE_ASSIGN(std::string name, json_member<std::string>(json, "origin"));
  return origin_from_name(name);
}

Result<Peak> peak_from_json(const Json& json) {
  Peak peak;
  RIDGE_ASSIGN(std::string precision, json_member<std::string>(json, "precision"));
  RIDGE_ASSIGN(peak.precision, precision_from_name(precision));
  RIDGE_TRY(read_int(json, "threads", peak.threads));
  RIDGE_ASSIGN(peak.flops_per_s, rate_from_json(json, "flops_per_s"));
  RIDGE_ASSIGN(peak.kernel, json_member<std::string>(json, "kernel"));
  RIDGE_ASSIGN(peak.origin, origin_from_json(json));
  RIDGE_ASSIGN(peak.spread_percent, json_member<double>(json, "spread_percent"));
  RIDGE_ASSIGN(peak.clock_hz, json_member<double>(json, "clock_hz"));
  return peak;
}

Result<Bandwidth> bandwidth_from_json(const Json& json) {
  Bandwidth bandwidth;
  RIDGE_ASSIGN(bandwidth.level, json_member<std::string>(json, "level"));
  RIDGE_TRY(read_int(json, "threads", bandwidth.threads));
  RIDGE_ASSIGN(bandwidth.bytes_per_s, rate_from_json(json, "bytes_per_s"));
  RIDGE_ASSIGN(bandwidth.plain_bytes_per_s, json_member<double>(json, "plain_bytes_per_s"));
  RIDGE_ASSIGN(bandwidth.triad_bytes_per_s, json_member<double>(json, "triad_bytes_per_s"));
  RIDGE_ASSIGN(bandwidth.kernel, json_member<std::string>(json, "kernel"));
  RIDGE_ASSIGN(bandwidth.origin, origin_from_json(json));
  RIDGE_ASSIGN(bandwidth.spread_percent, json_member<double>(json, "spread_percent"));
  RIDGE_ASSIGN(bandwidth.working_set_bytes, json_member<int64_t>(json, "working_set_bytes"));
  return bandwidth;
}

Result<Json> object_member(const Json& json, const char* key) {
  if (!json.is_object() || !json.contains(key))
    return Error{Code::kInvalid, std::string("not a machine: member '") + key + "' is missing"};
  return json.at(key);
}

}  // namespace

Json to_json(const Machine& machine) {
  Json json = {{"id", machine.id},
               {"system", machine.system},
               {"cpu", cpu_json(machine.cpu)},
               {"memory", memory_json(machine.memory)},
               {"measured_at", machine.measured_at},
               {"peaks", Json::array()},
               {"bandwidths", Json::array()}};
  for (const Peak& peak : machine.peaks) json["peaks"].push_back(peak_json(peak));
  for (const Bandwidth& bandwidth : machine.bandwidths) json["bandwidths"].push_back(bandwidth_json(bandwidth));
  return json;
}

Result<Machine> machine_from_json(const Json& json) {
  Machine machine;
  RIDGE_ASSIGN(machine.id, json_member<std::string>(json, "id"));
  RIDGE_ASSIGN(machine.system, json_member<std::string>(json, "system"));
  RIDGE_ASSIGN(machine.measured_at, json_member<std::string>(json, "measured_at"));
  RIDGE_ASSIGN(Json cpu, object_member(json, "cpu"));
  RIDGE_ASSIGN(machine.cpu, cpu_from_json(cpu));
  RIDGE_ASSIGN(Json memory, object_member(json, "memory"));
  RIDGE_ASSIGN(machine.memory, memory_from_json(memory));
  RIDGE_TRY(read_array(json, "peaks", [&](const Json& element) -> Status {
    RIDGE_ASSIGN(Peak peak, peak_from_json(element));
    machine.peaks.push_back(std::move(peak));
    return {};
  }));
  RIDGE_TRY(read_array(json, "bandwidths", [&](const Json& element) -> Status {
    RIDGE_ASSIGN(Bandwidth bandwidth, bandwidth_from_json(element));
    machine.bandwidths.push_back(std::move(bandwidth));
    return {};
  }));
  return machine;
}

}  // namespace ridge::machine
