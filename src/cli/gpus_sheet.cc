// One device of the catalogue, and the ranking for a model.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ranges>

#include "base/csv.h"
#include "base/schema.h"
#include "cli/figure_table.h"
#include "cli/gpus_text.h"
#include "cli/terminal.h"
#include "llm/kernels.h"

namespace ridge::cli {
namespace {

using TableRows = std::vector<std::vector<std::string>>;

// In one unit, so that they can be compared down a column.
std::string exact_rate(double flops_per_s) { return fmt::format("{:.1f} TFLOP/s", flops_per_s / 1e12); }

void add(TableRows& rows, std::string title, std::string value, std::string remark = "") {
  if (!value.empty()) rows.push_back({std::move(title), std::move(value), std::move(remark)});
}

std::string toolkits(const Catalogue& catalogue, const catalogue::CatalogueDevice& device) {
  for (const catalogue::Capability& each : catalogue.capabilities)
    if (each.version == device.compute_capability)
      return each.last_cuda.empty()
                 ? fmt::format("CUDA {} and later", each.first_cuda.empty() ? "?" : each.first_cuda)
                 : fmt::format("CUDA {} to {}", each.first_cuda.empty() ? "?" : each.first_cuda, each.last_cuda);
  return "";
}

std::string_view multiprocessor_name(const catalogue::CatalogueDevice& device) {
  if (device.vendor == "NVIDIA") return "SMs";
  if (device.vendor == "AMD") return "compute units";
  return device.vendor == "Intel" ? "Xe cores" : "GPU cores";
}

std::string units_of(const catalogue::CatalogueDevice& device) {
  std::vector<std::string> parts;
  if (device.multiprocessors)
    parts.push_back(fmt::format("{} {}", *device.multiprocessors, multiprocessor_name(device)));
  if (device.cores) parts.push_back(fmt::format("{} FP32 lanes", *device.cores));
  if (device.tensor_cores) parts.push_back(fmt::format("{} tensor cores", *device.tensor_cores));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string links_of(const catalogue::CatalogueDevice& device) {
  std::vector<std::string> parts;
  if (!device.interconnect.empty())
    parts.push_back(device.interconnect + (device.interconnect_bytes_per_s
                                               ? fmt::format(", {} in both directions together",
                                                             format_bandwidth(*device.interconnect_bytes_per_s))
                                               : ""));
  if (!device.pcie.empty()) parts.push_back("PCIe " + device.pcie);
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::string facts_table(const Catalogue& catalogue, const catalogue::CatalogueDevice& device) {
  TableRows rows;
  add(rows, "compute capability", device.compute_capability, toolkits(catalogue, device));
  add(rows, "released", device.year ? std::to_string(*device.year) : "");
  add(rows, "units", units_of(device));
  add(rows, "boost clock", device.boost_hz ? format_hertz(*device.boost_hz) : "");
  add(rows, "memory", device.memory_bytes ? format_bytes(*device.memory_bytes) : "", device.memory_type);
  add(rows, "bandwidth", device.bytes_per_s ? format_bandwidth(*device.bytes_per_s) : "");
  add(rows, "L2 cache", device.l2_bytes ? format_bytes(*device.l2_bytes) : "");
  add(rows, "power", device.power_w ? fmt::format("{:.0f} W", *device.power_w) : "",
      device.gpus_on_board > 1 ? fmt::format("the board, with {} of these GPUs", device.gpus_on_board) : "");
  add(rows, "links", links_of(device));
  add(rows, "form", device.form_factor);
  add(rows, "MIG", device.mig_instances ? fmt::format("up to {} instances", *device.mig_instances) : "");
  return table({}, rows, "lll");
}

// Empty: no kernel of this device was measured.
std::vector<KernelShare> kernel_shares(const catalogue::CatalogueDevice& device) {
  std::vector<KernelShare> shares;
  const Result<llm::Gpu> gpu = llm::gpu_of(device);
  if (!gpu) return shares;
  const auto add_share = [&](std::string kernel, std::string_view format, const llm::KernelTime& t) {
    if (t.own)
      shares.push_back({std::move(kernel), std::string(format), 100 * t.bound_seconds / t.seconds, t.compute_bound,
                        t.error_percent});
  };
  for (const checkpoint::WeightFormat format :
       {checkpoint::WeightFormat::kBf16, checkpoint::WeightFormat::kFp8, checkpoint::WeightFormat::kFp8Block,
        checkpoint::WeightFormat::kNvfp4}) {
    if (!gpu->computes(format)) continue;
    const std::string_view name = name_of(names_of(format), format);
    add_share("GEMM 8192 x 8192 x 8192", name, llm::gemm(*gpu, format, 8192, 8192, 8192));
    add_share("GEMM 16 x 28672 x 8192", name, llm::gemm(*gpu, format, 16, 28672, 8192));
  }
  llm::Attention attention;
  attention.head_dim = attention.value_dim = 128;
  add_share("decode attention, 64 x 8192 tokens", "bf16",
            llm::decode_attention(*gpu, {attention, 32, 8, 64, 64 * 8192, 16, 1}));
  add_share("prefill attention, 8192 tokens", "bf16", llm::prefill_attention(*gpu, {attention, 32, 8, 8192, 0}));
  return shares;
}

// The published figure farthest from the listed one.
std::optional<double> farthest(const catalogue::PeakRow& row) {
  std::optional<double> found;
  for (const catalogue::PublishedPeak& published : row.published)
    if (!row.listed || !found ||
        std::abs(catalogue::difference_percent(row.listed->flops_per_s, published.flops_per_s)) >
            std::abs(catalogue::difference_percent(row.listed->flops_per_s, *found)))
      found = published.flops_per_s;
  return found;
}

std::string peaks_table(const std::vector<catalogue::PeakRow>& peaks) {
  const auto published = [](const catalogue::PeakRow& row) {
    const std::optional<double> flops_per_s = farthest(row);
    return flops_per_s ? format_flops_rate(*flops_per_s) : "";
  };
  return figure_table("gpus-device", "peaks", json_of(peaks), {},
                      {.last = {own_column("published", peaks, published, "r3")}});
}

std::string formulas(const std::vector<catalogue::PeakRow>& peaks) {
  std::string text;
  for (const catalogue::PeakRow& row : peaks) {
    if (!row.formula) continue;
    const catalogue::PeakFormula& f = *row.formula;
    text += fmt::format("{} = {} {}s × {:g} operations per clock × {} = {}\n", precision_name(row.arithmetic), f.units,
                        f.unit, f.flops_per_unit_clock, format_hertz(f.clock_hz), exact_rate(f.flops_per_s));
    text += fmt::format("    operations per clock: {}\n", f.source);
  }
  for (const catalogue::PeakRow& row : peaks)
    for (const catalogue::PublishedPeak& published : row.published)
      text += fmt::format("{} published: {}, {}\n", precision_name(row.arithmetic), exact_rate(published.flops_per_s),
                          published.source);
  return text;
}

std::string corrections_text(const std::vector<catalogue::Correction>& corrections) {
  std::string text;
  for (const catalogue::Correction& each : corrections)
    text += fmt::format("often stated wrongly: {}: {}; right: {}{} ({})\n", each.quantity, each.claim, each.right,
                        each.reason.empty() ? "" : "; " + each.reason, each.source);
  return text;
}

// "does not fit" of "does not fit: 30 GiB are needed, …"
std::string kind_of(const std::string& reason) { return reason.substr(0, reason.find(':')); }

// Each kind of reason with its number and its first device.
std::string refused_text(const std::vector<sizing::Candidate>& refused) {
  std::vector<std::pair<std::string, int>> kinds;
  std::vector<const sizing::Candidate*> first;
  for (const sizing::Candidate& each : refused) {
    std::string kind = kind_of(each.reason);
    auto found = std::find_if(kinds.begin(), kinds.end(), [&](const auto& known) { return known.first == kind; });
    if (found != kinds.end()) {
      ++found->second;
    } else {
      kinds.emplace_back(kind, 1);
      first.push_back(&each);
    }
  }
  std::string text;
  for (size_t i = 0; i < kinds.size(); ++i)
    text += fmt::format("{} {} × {}, e.g. {}{}\n", painted(Meaning::kRejected, "rejected:"), kinds[i].second,
                        kinds[i].first, first[i]->device.name, first[i]->reason.substr(kinds[i].first.size()));
  return text;
}

}  // namespace

DeviceSheet sheet_of(const Catalogue& catalogue, const catalogue::CatalogueDevice& device) {
  DeviceSheet sheet{.device = device,
                    .peaks = catalogue::peak_rows(device, catalogue.peaks),
                    .corrections = catalogue::corrections_of(device, catalogue.peaks),
                    .kernel_shares = kernel_shares(device),
                    .prices = catalogue::prices_of(catalogue.prices, device),
                    .capability = {}};
  for (const catalogue::Capability& each : catalogue.capabilities)
    if (each.version == device.compute_capability) sheet.capability = each;
  return sheet;
}

std::string sheet_text(const Catalogue& catalogue, const DeviceSheet& sheet, bool explain) {
  const catalogue::CatalogueDevice& device = sheet.device;
  std::string text = fmt::format("{} · {} · {} · {} (datasheet figures)\n", device.name, device.vendor, device.family,
                                 device.architecture);
  text += facts_table(catalogue, device);
  text += "\n" + peaks_table(sheet.peaks);
  text +=
      "\nDense, at boost clock; fp16 with any, fp16_fp32acc with FP32 accumulators; above: how far the listed figure "
      "is.\n";
  if (!sheet.kernel_shares.empty()) text += "\n" + figure_table(schema_of<KernelShare>(), json_of(sheet.kernel_shares));
  if (explain) text += "\n" + formulas(sheet.peaks);
  if (!sheet.corrections.empty()) text += "\n" + corrections_text(sheet.corrections);
  if (!sheet.prices.empty()) text += "\n" + figure_table("gpus-device", "prices", json_of(sheet.prices));
  if (!device.notes.empty()) text += "\n" + note_text(device.notes);
  return text + "source: " + device.source + "\n";
}

RankedAt ranked_at(const sizing::Recommendation& recommendation) {
  RankedAt at{.batch = recommendation.goal.batch, .ranked = {}};
  for (const sizing::Candidate& each : recommendation.ranked | std::views::take(20))
    at.ranked.push_back({each.device.name, each.run_ms});
  return at;
}

std::string recommendation_text(const RecommendedDevices& devices, size_t most) {
  const sizing::Recommendation& recommendation = devices.result;
  const size_t shown = std::min(most == 0 ? recommendation.ranked.size() : most, recommendation.ranked.size());
  OwnColumn place{"", {}, "r"};
  while (place.cells.size() < shown) place.cells.push_back(std::to_string(place.cells.size() + 1));
  std::string text = recommendation.tie.empty() ? "" : recommendation.tie + "\n";
  if (const auto& apart = devices.apart)
    for (const RankedAt::Row& each : apart->ranked | std::views::take(3))
      text += fmt::format("{} {} {}", &each == &apart->ranked.front() ? fmt::format("At batch {}:", apart->batch) : ",",
                          each.device, format_ms(each.run_ms.likely));
  if (!text.empty()) text += "\n\n";
  if (shown == 0)
    text += painted(Meaning::kFailed, "No considered device meets the goal.") + "\n";
  else
    text += figure_table("gpus-recommend", "ranked", json_of(std::span(recommendation.ranked).first(shown)),
                         {"/p99_ms"}, {.first = {place}});
  if (shown < recommendation.ranked.size())
    text += fmt::format("… and {} more that meet the goal (--top 0 shows all)\n", recommendation.ranked.size() - shown);
  text += "\n" + refused_text(recommendation.refused);
  for (const std::string& assumption : recommendation.assumptions) text += note_text(assumption);
  return text;
}

std::string recommendation_csv(const sizing::Recommendation& recommendation) {
  std::vector<sizing::Candidate> rows = recommendation.ranked;
  rows.insert(rows.end(), recommendation.refused.begin(), recommendation.refused.end());
  return csv_table(
      "device meets run_ms_fast=/run_ms/fast run_ms_likely=/run_ms/likely run_ms_slow=/run_ms/slow bound_ms "
      "throughput_per_s devices p99_ms needed_bytes=/memory_bytes/needed available_bytes=/memory_bytes/available "
      "per_joule per_usd usd_per_hour reason",
      json_of(rows));
}

}  // namespace ridge::cli
