// Finds the devices of the catalogue that a name can mean.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

#include "base/letter_case.h"
#include "base/nearest.h"
#include "catalogue/catalogue.h"

namespace ridge::catalogue {
namespace {

using Words = std::vector<std::string>;

// Words of drivers' names beside the catalogue's: left out, or written otherwise. The 480 GB of a GH200 are its CPU's.
constexpr std::pair<std::string_view, std::string_view> kDriverWords[] = {
    {"generation", ""}, {"edition", ""},   {"ac", ""},       {"sxm6", "sxm"},
    {"144g", "144gb"},  {"480gb", "96gb"}, {"k20xm", "k20x"}};

// Lower-case words of letters and digits; text in parentheses, as in "Tesla K80 (per GPU)", only on request.
Words words_of(std::string_view name, bool with_parentheses) {
  Words words;
  std::string word;
  int depth = 0;
  auto end_word = [&] {
    for (const auto& [driver, ours] : kDriverWords)
      if (word == driver) word = ours;
    if (!word.empty()) words.push_back(std::move(word));
    word.clear();
  };
  for (char c : name) {
    if (c == '(') ++depth;
    if (c == ')') depth = std::max(0, depth - 1);
    bool counts = std::isalnum(static_cast<unsigned char>(c)) && (with_parentheses || depth == 0);
    if (counts)
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else
      end_word();
  }
  end_word();
  return words;
}

constexpr std::array<std::string_view, 15> kBrands = {"nvidia",  "amd",    "intel", "apple",    "google",
                                                      "geforce", "gtx",    "rtx",   "tesla",    "quadro",
                                                      "jetson",  "radeon", "rx",    "instinct", "arc"};
constexpr size_t kVendors = 5;  // the first

bool is_brand(std::string_view word) { return std::ranges::find(kBrands, word) != kBrands.end(); }

bool is_size(std::string_view word) {
  return word.ends_with("gb") && word.find_first_not_of("0123456789") == word.size() - 2;
}

// All words together, without the vendor.
std::string joined(Words words) {
  std::erase_if(words, [](const std::string& word) {
    return std::ranges::count(kBrands.begin(), kBrands.begin() + kVendors, word) > 0;
  });
  return fmt::format("{}", fmt::join(words, ""));
}

// "rtx4090" → "rtx", "4090"; any other word unchanged.
Words split_brand(const std::string& word) {
  size_t digit = word.find_first_of("0123456789");
  if (digit == std::string::npos || !is_brand(std::string_view(word).substr(0, digit))) return {word};
  return {word.substr(0, digit), word.substr(digit)};
}

bool contains_all(const Words& all, const Words& wanted) {
  return std::all_of(wanted.begin(), wanted.end(), [&](const std::string& word) {
    return std::ranges::any_of(
        all, [&](const std::string& one) { return one == word || (word == "sxm" && one.starts_with(word)); });
  });
}

struct Name {
  Words words;        // all of them, and the vendor and memory
  std::string whole;  // of the name
  std::string bare;   // without text in parentheses
  std::string core;   // of that, without brands: "4070" of "GeForce RTX 4070"
  std::string kind;   // of that, without a size of memory
  Words brands;

  explicit Name(std::string_view text, std::string_view vendor_and_memory = "") : words(words_of(text, true)) {
    whole = joined(words);
    Words outside = words_of(text, false);
    if (outside.empty()) outside = words;
    bare = joined(outside);
    for (const std::string& word : outside)
      for (const std::string& part : split_brand(word)) {
        if (is_brand(part)) {
          brands.push_back(part);
          continue;
        }
        core += part;
        if (!is_size(part)) kind += part;
      }
    for (const std::string& word : words_of(vendor_and_memory, true)) {
      words.push_back(word);
      brands.push_back(word);
    }
  }
};

using Test = bool (*)(const Name& device, const Name& wanted);

// Ordered from the strictest to the loosest.
constexpr std::array<Test, 6> kTests = {
    [](const Name& device, const Name& wanted) { return device.whole == wanted.whole; },
    [](const Name& device, const Name& wanted) { return device.bare == wanted.bare; },
    [](const Name& device, const Name& wanted) {
      return !wanted.core.empty() && device.core == wanted.core && contains_all(device.brands, wanted.brands);
    },
    [](const Name& device, const Name& wanted) {
      return !wanted.core.empty() && device.kind == wanted.core && contains_all(device.brands, wanted.brands);
    },
    [](const Name& device, const Name& wanted) { return contains_all(device.words, wanted.words); },
    [](const Name& device, const Name& wanted) { return device.whole.find(wanted.whole) != std::string::npos; }};

bool has_part(std::string_view text, std::string_view part) {
  return lower_case(text).find(lower_case(part)) != std::string::npos;
}

// Finds names with a word near to `wanted`: "H10O" does not match "H100 SXM5 80GB", but is near to its first word.
std::vector<std::string> devices_of_nearest_word(std::string_view wanted, std::span<const std::string> names) {
  constexpr size_t kMost = 3;
  std::vector<std::string> words;
  for (const std::string& name : names) {
    const std::string word = name.substr(0, name.find(' '));
    if (std::find(words.begin(), words.end(), word) == words.end()) words.push_back(word);
  }
  std::vector<std::string> near;
  for (const std::string& word : nearest(wanted, words, 1))
    for (const std::string& name : names)
      if (near.size() < kMost && name.starts_with(word)) near.push_back(name);
  return near;
}

}  // namespace

bool accepts(const DeviceFilter& filter, const CatalogueDevice& device) {
  return has_part(device.vendor, filter.vendor) && has_part(device.family, filter.family) &&
         has_part(device.architecture, filter.architecture) &&
         (filter.compute_capability.empty() || device.compute_capability == filter.compute_capability) &&
         (!filter.memory_bytes || device.memory_bytes.value_or(0) >= *filter.memory_bytes) &&
         (!filter.year || device.year.value_or(0) >= *filter.year);
}

std::vector<const CatalogueDevice*> match_devices(std::span<const CatalogueDevice> devices, std::string_view name) {
  const Name wanted(name);
  std::vector<const CatalogueDevice*> found;
  if (wanted.words.empty()) return found;
  std::vector<Name> names;
  for (const CatalogueDevice& device : devices)
    names.emplace_back(device.name, device.vendor + " " + device.memory_type);
  for (Test test : kTests) {
    for (size_t i = 0; i < names.size(); ++i)
      if (test(names[i], wanted)) found.push_back(&devices[i]);
    if (!found.empty()) break;
  }
  return found;
}

// Compute slices are shares of the GPU's highest number of instances, memory slices are eighths (NVIDIA MIG user
// guide, "Supported MIG profiles").
std::optional<CatalogueDevice> mig_slice(std::span<const CatalogueDevice> devices, std::string_view name) {
  constexpr double kMemorySlices = 8, kGib = 1024.0 * 1024 * 1024;
  const size_t mark = lower_case(name).rfind(" mig ");
  if (mark == std::string::npos) return std::nullopt;
  const Words profile = words_of(name.substr(mark), false);  // "mig", "1g", "10gb"
  if (profile.size() < 3 || profile[1].size() != 2 || !profile[1].ends_with('g') || !is_size(profile[2]))
    return std::nullopt;
  const int units = profile[1].front() - '0';
  const std::vector<const CatalogueDevice*> found = match_devices(devices, name.substr(0, mark));
  if (found.size() != 1 || !found.front()->mig_instances || !found.front()->memory_bytes) return std::nullopt;
  CatalogueDevice slice = *found.front();
  const double compute = static_cast<double>(units) / *slice.mig_instances;
  const double gibibytes = std::stod(profile[2].substr(0, 6));
  const double slices = std::round(kMemorySlices * gibibytes * kGib / *slice.memory_bytes),
               memory = slices / kMemorySlices;
  if (!(compute > 0 && compute <= 1 && memory > 0 && memory <= 1)) return std::nullopt;
  slice.notes = fmt::format("derived: {} of {} compute slices and {:g} of {:g} memory slices of {}", units,
                            *slice.mig_instances, slices, kMemorySlices, slice.name);
  slice.name += fmt::format(" MIG {}.{}", profile[1], profile[2]);
  slice.memory_bytes = memory * *slice.memory_bytes;
  if (slice.bytes_per_s) slice.bytes_per_s = memory * *slice.bytes_per_s;
  if (slice.l2_bytes) slice.l2_bytes = memory * *slice.l2_bytes;
  slice.multiprocessors = slice.cores = slice.tensor_cores = slice.mig_instances = std::nullopt;
  slice.power_w = slice.interconnect_bytes_per_s = std::nullopt;
  slice.interconnect.clear();
  for (CataloguePeak& peak : slice.peaks) {
    peak.flops_per_s *= compute;
    peak.origin = Origin::kDerived;
  }
  return slice;
}

Result<CatalogueDevice> find_device(std::span<const CatalogueDevice> devices, std::string_view name) {
  constexpr size_t kMostNames = 8;
  if (std::optional<CatalogueDevice> slice = mig_slice(devices, name)) return std::move(*slice);
  std::vector<const CatalogueDevice*> found = match_devices(devices, name);
  if (found.size() == 1) return *found.front();
  std::vector<std::string> names;
  if (found.size() > kMostNames)
    return Error{
        Code::kInvalid,
        fmt::format("'{}' can mean {} devices of the catalogue; say more of the name, as in '{}', or name this "
                    "machine's own: cuda:0, opencl:0. 'ridge gpus' lists all",
                    name, found.size(), found.front()->name)};
  if (!found.empty()) {
    for (const CatalogueDevice* device : found) names.push_back(device->name);
    return Error{Code::kInvalid, fmt::format("'{}' can mean {} devices: {}; give one of these names", name,
                                             found.size(), fmt::join(names, ", "))};
  }
  for (const CatalogueDevice& device : devices) names.push_back(device.name);
  std::vector<std::string> near = nearest(name, names);
  if (near.empty()) near = devices_of_nearest_word(name, names);
  return Error{Code::kNotFound,
               fmt::format("there is no device '{}' in the catalogue; {}", name,
                           near.empty() ? "'ridge gpus' lists all"
                                        : fmt::format("the nearest names: {}", fmt::join(near, ", ")))};
}

}  // namespace ridge::catalogue
