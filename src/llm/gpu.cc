#include "llm/gpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "catalogue/data.h"
#include "catalogue/table.h"

namespace ridge::llm {
namespace {

constexpr double kPcieLaneBytes = 1e9;  // of generation 3, one way: 8 GT/s, 128b/130b; doubles with each generation
// PCIe generation 4 × 16, where the catalogue names neither a link between GPUs nor PCIe.
constexpr double kUnknownLink = 32e9;

constexpr std::array<std::pair<std::string_view, double KernelLaw::*>, 13> kColumns = {{
    {"t0_us", &KernelLaw::t0_us},
    {"compute_efficiency", &KernelLaw::compute_efficiency},
    {"memory_efficiency", &KernelLaw::memory_efficiency},
    {"norm", &KernelLaw::norm},
    {"k_ramp", &KernelLaw::k_ramp},
    {"extra_us", &KernelLaw::extra_us},
    {"small_tile_factor", &KernelLaw::small_tile_factor},
    {"tile_rows", &KernelLaw::tile_rows},
    {"ep_skew", &KernelLaw::ep_skew},
    {"us_per_100_experts", &KernelLaw::us_per_100_experts},
    {"ep_us", &KernelLaw::ep_us},
    {"ramp_us", &KernelLaw::ramp_us},
    {"length_ramp", &KernelLaw::length_ramp},
}};

// "4.0 x16" → 32e9.
double pcie_bytes_per_s(const std::string& pcie) {
  const size_t lanes = pcie.find('x');
  if (pcie.empty() || pcie[0] < '3' || pcie[0] > '7' || lanes == std::string::npos) return kUnknownLink;
  return kPcieLaneBytes * static_cast<double>(1 << (pcie[0] - '3')) *
         static_cast<double>(std::max(1L, std::strtol(pcie.c_str() + lanes + 1, nullptr, 10)));
}

constexpr double kReadShare = 0.93;  // gpu.h

// The arithmetic that computes a dtype of the table; INT8 has no law of its own.
constexpr std::array<std::pair<std::string_view, Precision>, 6> kComputedIn = {{{"bfloat16", Precision::kBf16},
                                                                                {"int4_wo", Precision::kBf16},
                                                                                {"w4a16_mxfp4", Precision::kBf16},
                                                                                {"fp8", Precision::kFp8},
                                                                                {"fp8_block", Precision::kFp8},
                                                                                {"w4a8_mxfp4_mxfp8", Precision::kFp8}}};

void choose_attention(Gpu& gpu) {
  gpu.decode = gpu.laws[{"attention_decode", ""}];
  gpu.prefill = gpu.laws[{"attention_prefill", "bfloat16"}];
}

// By how much the laws' share of the compute limit grows when the limit becomes the measured one.
double growth_of(const Gpu& gpu, Precision arithmetic, const MeasuredRates::Peak& peak) {
  const KernelLaw* law = law_of(gpu, "gemm", arithmetic == Precision::kFp8 ? "fp8" : "bfloat16");
  if (peak.depth > 0 && law != nullptr)
    return peak.typical / peak.best * (1 + law->k_ramp / peak.depth) / law->compute_efficiency;
  const double before = gpu.rate(arithmetic);
  return before > 0 ? before / peak.best : 1;
}

Status read_laws(std::string_view text, std::string_view without, Gpu& gpu) {
  std::vector<std::string_view> columns = {"device", "kernel", "dtype", "median_error_percent", "source"};
  for (const auto& [name, member] : kColumns) columns.push_back(name);
  RIDGE_ASSIGN(const catalogue::Table table, catalogue::Table::read(text, "kernel_laws", columns));
  for (size_t i = 0; i < table.size(); ++i) {
    const catalogue::TableRow row = table.row(i);
    const std::string& device = row.text("device");
    const bool own = device == gpu.name;
    if ((!own && device != "all") || device == without) continue;
    KernelLaw law;
    law.own = own;
    for (const auto& [name, member] : kColumns)
      if (const auto value = row.number(name)) law.*member = *value;
    law.median_error_percent = row.number("median_error_percent").value_or(0);
    RIDGE_TRY(row.status());
    KernelLaw& kept = gpu.laws[{row.text("kernel"), row.text("dtype")}];
    if (own || !kept.own) kept = law;
  }
  choose_attention(gpu);
  return ok_status();
}

}  // namespace

double Gpu::rate(Precision arithmetic) const {
  const auto found = flops_per_s.find(arithmetic);
  return found == flops_per_s.end() ? 0 : found->second;
}

Result<Gpu> gpu_of(const catalogue::CatalogueDevice& device) { return gpu_of(device, catalogue::data("kernel_laws")); }

Result<Gpu> gpu_of(const catalogue::CatalogueDevice& device, std::string_view laws, std::string_view without) {
  Gpu gpu;
  gpu.name = device.name;
  gpu.vendor = device.vendor;
  gpu.capability = std::strtod(device.compute_capability.c_str(), nullptr);
  for (const catalogue::CataloguePeak& peak : device.peaks) gpu.flops_per_s[peak.arithmetic] = peak.flops_per_s;
  double& bf16 = gpu.flops_per_s[Precision::kBf16];
  if (bf16 <= 0) bf16 = gpu.rate(Precision::kFp16Fp32);
  if (bf16 <= 0) bf16 = gpu.rate(Precision::kFp16);
  gpu.bytes_per_s = device.bytes_per_s.value_or(0);
  if (bf16 <= 0 || gpu.bytes_per_s <= 0)
    return Error{Code::kUnavailable,
                 fmt::format("{}: no {} has a source in the catalogue, so nothing can be predicted for it", device.name,
                             bf16 <= 0 ? "rate of 16-bit arithmetic" : "memory bandwidth")};
  // A board without a number of multiprocessors gets the one that 4096 FLOP per clock and 1.8 GHz imply.
  gpu.multiprocessors = device.multiprocessors ? *device.multiprocessors : std::max(1.0, bf16 / (4096 * 1.8e9));
  gpu.has_nvlink = device.interconnect.starts_with("NVLink") && device.interconnect_bytes_per_s;
  gpu.link_bytes_per_s =
      device.interconnect_bytes_per_s ? *device.interconnect_bytes_per_s / 2 : pcie_bytes_per_s(device.pcie);
  gpu.link_unknown =
      !device.interconnect_bytes_per_s && (!device.interconnect.empty() || device.form_factor.starts_with("SXM") ||
                                           device.form_factor == "OAM" || device.pcie.empty());
  // GB200 and GB300 are sold as racks of 72 GPUs on one NVLink; boards of other GPUs carry at most 8.
  if (gpu.has_nvlink && device.form_factor == "Superchip" && device.interconnect.starts_with("NVLink 5"))
    gpu.link_gpus = 72;
  gpu.memory_bytes = device.memory_bytes.value_or(0);
  gpu.power_w = catalogue::power_per_gpu_w(device).value_or(0);
  RIDGE_TRY(read_laws(laws, without, gpu));
  return gpu;
}

Gpu measured_gpu(Gpu gpu, const MeasuredRates& rates) {
  for (const auto& [arithmetic, peak] : rates.peaks) {
    if (peak.best <= 0) continue;
    const double growth = growth_of(gpu, arithmetic, peak);
    for (auto& [of, law] : gpu.laws)
      for (const auto& [dtype, computed_in] : kComputedIn)
        if (of.second == dtype && computed_in == arithmetic) law.compute_efficiency *= growth;
    gpu.flops_per_s[arithmetic] = peak.best;
  }
  if (rates.bytes_per_s > 0) {
    for (auto& [of, law] : gpu.laws) law.memory_efficiency = std::min(1.0, law.memory_efficiency / kReadShare);
    gpu.bytes_per_s = rates.bytes_per_s;
  }
  choose_attention(gpu);
  return gpu;
}

const KernelLaw* law_of(const Gpu& gpu, std::string_view kernel, std::string_view dtype) {
  const auto found = gpu.laws.find(std::pair<std::string, std::string>(kernel, dtype));
  return found == gpu.laws.end() ? nullptr : &found->second;
}

}  // namespace ridge::llm
