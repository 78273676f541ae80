#include "lab/kernel_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>

#include "lab/experiment.h"
#include "lab/kernels.h"

namespace ridge::lab {
namespace {

// Threads per block of every kernel that the experiment starts; its texts on the way.
std::map<std::string, int> threads_of_kernels(const Experiment& experiment, std::vector<std::string>& texts) {
  Target target;
  target.small = true;
  target.threads_per_block = 1024;
  std::map<std::string, int> threads;
  for (const Case& work : experiment.cases(target)) {
    if (std::find(texts.begin(), texts.end(), work.kernels) == texts.end()) texts.push_back(work.kernels);
    for (const Variant& variant : work.variants)
      for (const gpu::Launch& launch : variant.launches) {
        auto of_block = static_cast<int>(launch.threads.x * launch.threads.y * launch.threads.z);
        threads[launch.kernel] = std::max(threads[launch.kernel], of_block);
      }
  }
  return threads;
}

// "8.9" → 89.
int architecture_of(const hw::Capability& capability) {
  return static_cast<int>(std::lround(10 * std::atof(capability.version.c_str())));
}

Status add_reports(const gpu::Nvrtc& compiler, const hw::Capability& capability, const Experiment& experiment,
                   std::vector<KernelReport>& reports) {
  std::vector<std::string> texts;
  std::map<std::string, int> threads = threads_of_kernels(experiment, texts);
  for (const std::string& text : texts) {
    RIDGE_ASSIGN(gpu::CudaProgram program,
                 compiler.compile(kernel_source(text), text + ".cu", architecture_of(capability)));
    for (const gpu::CudaKernelUse& use : program.kernels) {
      KernelReport report{std::string(experiment.name), use, threads[use.name], {}};
      KernelUse asked{report.threads, use.registers, static_cast<double>(use.shared_bytes)};
      RIDGE_ASSIGN(report.occupancy, occupancy(capability, asked));
      reports.push_back(std::move(report));
    }
  }
  return {};
}

}  // namespace

Result<std::vector<KernelReport>> kernel_reports(const gpu::Nvrtc& compiler, const hw::Capability& capability,
                                                 const std::vector<std::string>& names) {
  for (const std::string& name : names)
    if (std::none_of(experiments().begin(), experiments().end(), [&](const Experiment& e) { return e.name == name; }))
      return Error{Code::kInvalid, fmt::format("there is no experiment '{}'; ridge lab list names them", name)};
  std::vector<KernelReport> reports;
  for (const Experiment& experiment : experiments())
    if (names.empty() || std::find(names.begin(), names.end(), experiment.name) != names.end())
      RIDGE_TRY(add_reports(compiler, capability, experiment, reports));
  return reports;
}

Json to_json(const KernelReport& report) {
  Json json = to_json(report.occupancy);
  json["experiment"] = report.experiment;
  json["kernel"] = report.use.name;
  json["threads"] = report.threads;
  json["registers"] = report.use.registers;
  json["shared_bytes"] = report.use.shared_bytes;
  json["stack_bytes"] = report.use.stack_bytes;
  json["spill_bytes"] = report.use.spill_bytes;
  return json;
}

}  // namespace ridge::lab
