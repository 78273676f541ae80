#include "cli/plan_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "plan/device.h"

namespace ridge::cli {
namespace {

Status check_model(const PlanOptions& options) {
  bool flags = !options.llm.flags.empty();
  if (options.model.empty() == flags || (options.calibrate && options.model.empty())) return ok_status();
  return Error{Code::kInvalid,
               flags ? "MODEL and --llm both describe a model; give one of them"
                     : "MODEL is missing: an ONNX file, a language model's config.json, or its dimensions "
                       "by --llm"};
}

// Forms that look at layers have nothing to look at in a language model's dimensions.
Status check_form(const PlanOptions& options) {
  bool layers = !options.html.empty() || wanted(options.load) || wanted(options.memory) || wanted(options.training);
  if (!is_llm(options) || !layers) return ok_status();
  return Error{Code::kInvalid,
               "--html, --rps, --memory and --training are of models whose layers are known; of a language model's "
               "dimensions there are --json, --csv, --batch and --cost"};
}

// What the catalogue has of a GPU in this machine, which may be its name alone, with the memory that the driver tells.
catalogue::CatalogueDevice described(const limits::NvidiaGpu& gpu) {
  catalogue::CatalogueDevice device = gpu.datasheet.value_or(catalogue::CatalogueDevice{});
  if (device.name.empty()) {
    device.vendor = "NVIDIA";
    device.name = gpu.facts.name;
  }
  if (gpu.facts.memory_bytes > 0) device.memory_bytes = static_cast<double>(gpu.facts.memory_bytes);
  return device;
}

// "cuda:1": the GPU of this machine; anything else: a name of the catalogue.
Status name_device(const std::string& name, PlanRequest& request) {
  const Result<plan::Device> here = plan::device_from_name(name);
  if (!here || !plan::is_nvidia(*here)) {
    RIDGE_ASSIGN(std::vector<catalogue::CatalogueDevice> devices, catalogue::catalogue());
    RIDGE_ASSIGN(request.device, catalogue::find_device(devices, name));
    return {};
  }
  Result<limits::NvidiaGpu> gpu = limits::nvidia_gpu(here->index);
  if (!gpu) return Error{Code::kUnavailable, "device " + plan::device_name(*here) + ": " + gpu.error().message};
  request.gpu = std::move(*gpu);
  request.device = described(*request.gpu);
  return {};
}

}  // namespace

void declare(CLI::App& app, PlanOptions& options) {
  app.add_option("MODEL", options.model);
  app.add_option("--batch,-b", options.batch);
  app.add_option("--shape", options.shapes);
  app.add_option("--threads,-t", options.threads)->check(CLI::PositiveNumber);
  app.add_option("--precision", options.precision);
  app.add_option("--device,-d", options.device);
  app.add_option("--layers", options.layers)->check(CLI::NonNegativeNumber);
  app.add_option("--instances", options.instances)->check(CLI::PositiveNumber);
  app.add_flag("--calibrate", options.calibrate);
  app.add_flag("--verify", options.verify);
  app.add_flag("--fresh", options.fresh);
  auto* json = app.add_flag("--json", options.json);
  app.add_flag("--csv", options.csv)->excludes(json);
  app.add_option("--html", options.html);
  app.add_option("--lang", options.language);
  declare(app, options.llm);
  declare(app, options.load);
  declare(app, options.cost);
  declare(app, options.memory);
  declare(app, options.training);
}

Result<PlanRequest> request_of(const PlanOptions& options) {
  PlanRequest request;
  request.options = options;
  RIDGE_TRY(check_model(options));
  RIDGE_TRY(check_form(options));
  RIDGE_TRY(check(options.load));
  RIDGE_TRY(check(options.memory));
  if (options.memory.measure && !options.device.empty())
    return Error{Code::kInvalid, "--measure runs the model on this machine's CPU; leave --device out"};
  RIDGE_TRY(check(options.training));
  RIDGE_ASSIGN(request.batch, predict::parse_batch_range(options.batch.empty() ? "1" : options.batch));
  request.binding.batch = request.batch.first;
  request.binding.insist_on_batch = !options.batch.empty();
  request.binding.data_sizes_at_most = true;
  for (const std::string& shape : options.shapes) RIDGE_TRY(model::parse_shape_option(shape, request.binding));
  std::string precision = is_llm(options) ? "fp16" : "fp32";
  RIDGE_ASSIGN(request.precision, precision_from_name(options.precision.empty() ? precision : options.precision));
  RIDGE_ASSIGN(request.language, report::language_from_name(options.language));
  if (!options.device.empty()) RIDGE_TRY(name_device(options.device, request));
  return request;
}

}  // namespace ridge::cli
