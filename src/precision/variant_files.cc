#include "precision/variant_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/digest.h"
#include "base/file.h"
#include "base/replacement_file.h"

namespace ridge::precision {
namespace {

std::string_view text_of(const Buffer& buffer) { return {reinterpret_cast<const char*>(buffer.data()), buffer.size()}; }

// All arguments of the pass.
std::string settings_text(const std::string& name, const VariantOptions& options) {
  const QuantiseOptions& q = options.quantise;
  return fmt::format(
      "ridge {} {} per_channel={} symmetric={} reduce_range={} products={} form={} keep={} operators={} "
      "limits={} eval={} {} {}",
      RIDGE_VERSION, name, q.per_channel, q.symmetric_activations, q.reduce_range, q.activation_products,
      static_cast<int>(q.weight_nodes), fmt::join(q.keep_nodes, "|"), fmt::join(q.operators, "|"),
      dump_json(json_of(options.limits)), options.evaluation ? options.evaluation->command : "",
      options.evaluation ? options.evaluation->least.value_or(-1) : 0,
      options.evaluation ? options.evaluation->drop.value_or(-1) : 0);
}

std::string samples_text(const Samples& samples) {
  std::string text = samples.origin;
  for (const std::vector<Sample>* part : {&samples.calibration, &samples.held_out})
    for (const Sample& sample : *part)
      for (const Tensor& tensor : sample) text += digest_text(text_of(tensor.data));
  return text;
}

// The record stored beside a variant's file.
void visit_record(auto& visit, Is<Variant> auto& variant) {
  visit.object("report", [&](auto& report) {
    report("changed_nodes", variant.report.changed_nodes);
    report("kept_nodes", variant.report.kept_nodes);
    report("bytes", variant.report.bytes);
    report("notes", variant.report.notes);
  });
  visit("calibration", variant.calibration);
  visit("kept", variant.kept);
  visit("notes", variant.notes);
  visit("sensitivity", variant.sensitivity);
}

}  // namespace

Result<VariantFiles> variant_files(const VariantBasis& basis, const std::string& name, const VariantOptions& options) {
  if (options.folder.empty())
    return Error{Code::kUnavailable,
                 "there is no folder to keep generated models in: neither XDG_CACHE_HOME nor HOME is set; name a store"
                 " with --store"};
  std::error_code error;
  std::filesystem::create_directories(options.folder, error);
  if (error)
    return Error{Code::kFailed, fmt::format("make the folder for variants {}: {}", options.folder, error.message())};
  RIDGE_ASSIGN(const std::string model, basis.model.unbound.digest());
  std::string text =
      fmt::format("{}\n{} {}\n{}\n", model, basis.plan.engine, basis.plan.device, settings_text(name, options));
  for (const auto& [input, shape] : basis.plan.shapes) text += input + shape_text(shape);
  const std::string stem =
      fmt::format("{}/{}-{}", options.folder, name, digest_text(text + samples_text(basis.samples)));
  return VariantFiles{stem + ".onnx", stem + ".json", temporary_name(stem + "-") + "-"};
}

bool recall(const VariantFiles& files, Variant& variant) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(files.model, ignored)) return false;
  const Result<std::string> text = read_file(files.record);
  if (!text) return false;
  const Result<Json> json = parse_json(*text, files.record);
  if (!json) return false;
  Variant known = variant;
  if (!read_fields(*json, [&](auto& visit) { visit_record(visit, known); })) return false;  // of another version
  known.model = known.report.file = files.model;
  variant = std::move(known);
  return true;
}

Status remember(const VariantFiles& files, const Variant& variant) {
  Json json;
  FieldWriter visit(json);
  visit_record(visit, variant);
  return write_file_atomically(files.record, dump_json(json, true) + "\n");
}

}  // namespace ridge::precision
