// ridge bench device: the CPU's document, and as text that of --device opencl:N|cuda:N.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "limits/accelerator/device_measurement.h"
#include "machine/machine.h"

namespace ridge::cli {

struct RidgePoint {
  Precision precision = Precision::kFp32;
  int threads = 1;
  double flops_per_byte = 0;
};
void visit_fields(auto& visit, Is<RidgePoint> auto& point) {
  visit("precision", point.precision);
  visit("threads", point.threads);
  visit("flops_per_byte", point.flops_per_byte);
  visit.derived("origin", Origin::kDerived);
}
std::vector<RidgePoint> ridge_points(const machine::Machine& machine);

// The machine's members, with the contract's names of measured limits.
struct CpuReport {
  machine::Machine machine;
};
void visit_fields(auto& visit, Is<CpuReport> auto& report) {
  auto& machine = report.machine;
  visit.derived("device", Derived{machine.cpu.model, means("the CPU as the system names it")});
  visit.derived("kind", std::string("cpu"));
  visit("machine", machine.id, means("the name under which its limits are kept, as `about.machine.id`"));
  visit("system", machine.system);
  visit("cpu", machine.cpu, means("those that ridge may use, by affinity, cpuset and quota"));
  visit("memory", machine.memory);
  visit.derived("usable_threads", Derived{usable_threads(machine), means("the allowed cores, at most the quota")});
  visit("measured_at", machine.measured_at, means("UTC"));
  visit("peaks", machine.peaks, means("the highest arithmetic rates seen: 1 multiply-add = 2 FLOPs"));
  visit("bandwidth", machine.bandwidths, means("the highest rates of reading seen, by level of memory"));
  visit.derived("ridge_points", Derived{ridge_points(machine), means("from which intensity on arithmetic bounds")});
  visit.derived("links", Derived{std::vector<std::string>(), means("none: a CPU has no copies")});
  visit.unless_empty("disturbance", machine.disturbance, means("while they were measured, as of `bench MODEL`"));
}

std::string accelerator_text(const limits::accelerator::DeviceMeasurement& measured);

}  // namespace ridge::cli
