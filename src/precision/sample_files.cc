#include "precision/sample_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <random>

#include "base/element.h"
#include "base/file.h"
#include "base/npy.h"
#include "base/npz.h"

namespace ridge::precision {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kRecorded = "request-";  // prefix of the names of files written by `ridge serve --record`
constexpr std::string_view kForms = "give a .npy or .npz file, a picture (.jpg, .png), or a folder of one kind of them";

enum class Kind { kNpy, kNpz, kImage };

std::optional<Kind> kind_of(const fs::path& path) {
  if (path.extension() == ".npy") return Kind::kNpy;
  if (path.extension() == ".npz") return Kind::kNpz;
  if (is_image_file(path.string())) return Kind::kImage;
  return std::nullopt;
}

// The files that together provide all inputs of some samples: one .npz, or one file per input.
using Unit = std::vector<fs::path>;

struct Listing {
  Kind kind = Kind::kNpy;
  std::vector<Unit> units;
  fs::path folder;  // location of the files
  size_t ignored = 0;
};

struct Folder {
  std::vector<fs::path> files, folders;
  size_t others = 0;
};
Result<Folder> look_into(const fs::path& path) {
  Folder folder;
  std::error_code error;
  for (fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
    if (at->path().filename().string().starts_with('.')) continue;
    std::error_code ignored;
    if (at->is_directory(ignored))
      folder.folders.push_back(at->path());
    else if (kind_of(at->path()))
      folder.files.push_back(at->path());
    else
      ++folder.others;
  }
  if (error) return Error{Code::kFailed, fmt::format("read samples {}: {}", path.string(), error.message())};
  std::sort(folder.files.begin(), folder.files.end());
  std::sort(folder.folders.begin(), folder.folders.end());
  return folder;
}

Result<Kind> one_kind(const std::vector<fs::path>& files) {
  const Kind kind = *kind_of(files.front());
  for (const fs::path& file : files)
    if (*kind_of(file) != kind)
      return Error{Code::kInvalid, fmt::format("read samples: {} and {} are of different kinds; {}",
                                               files.front().string(), file.string(), kForms)};
  return kind;
}

// One subfolder per input.
Result<Listing> list_subfolders(const fs::path& path, const std::vector<SampleInput>& inputs) {
  Listing listing;
  listing.folder = path;
  std::vector<std::vector<fs::path>> columns;
  for (const SampleInput& input : inputs) {
    RIDGE_ASSIGN(Folder folder, look_into(path / input.spec.name));
    if (folder.files.empty())
      return Error{Code::kNotFound, fmt::format("read samples {}: no .npy or picture files; {}",
                                                (path / input.spec.name).string(), kForms)};
    RIDGE_ASSIGN(listing.kind, one_kind(folder.files));
    if (!columns.empty() && folder.files.size() != columns[0].size())
      return Error{
          Code::kInvalid,
          fmt::format("read samples {}: {} files for input '{}', {} for '{}'; each needs one per "
                      "sample",
                      path.string(), columns[0].size(), inputs[0].spec.name, folder.files.size(), input.spec.name)};
    listing.ignored += folder.others;
    columns.push_back(std::move(folder.files));
  }
  for (size_t i = 0; i < columns[0].size(); ++i) {
    Unit unit;
    for (const auto& column : columns) unit.push_back(column[i]);
    listing.units.push_back(std::move(unit));
  }
  return listing;
}

bool has_subfolders_for(const Folder& folder, const std::vector<SampleInput>& inputs) {
  return std::all_of(inputs.begin(), inputs.end(), [&](const SampleInput& input) {
    return std::any_of(folder.folders.begin(), folder.folders.end(),
                       [&](const fs::path& path) { return path.filename() == input.spec.name; });
  });
}

Result<Listing> list(const fs::path& path, const std::vector<SampleInput>& inputs) {
  std::error_code error;
  if (!fs::exists(path, error))
    return Error{Code::kNotFound, fmt::format("read samples {}: no such file", path.string())};
  if (!fs::is_directory(path, error)) {
    const std::optional<Kind> kind = kind_of(path);
    if (!kind)
      return Error{Code::kInvalid, fmt::format("read samples {}: unknown kind of file; {}", path.string(), kForms)};
    return Listing{*kind, {{path}}, path, 0};
  }
  RIDGE_ASSIGN(const Folder folder, look_into(path));
  if (folder.files.empty()) {
    if (has_subfolders_for(folder, inputs)) return list_subfolders(path, inputs);
    if (folder.folders.size() == 1) return list(folder.folders[0], inputs);
    return Error{Code::kNotFound,
                 fmt::format("read samples {}: nothing readable is in this folder; {}", path.string(), kForms)};
  }
  Listing listing;
  listing.folder = path;
  listing.ignored = folder.others;
  RIDGE_ASSIGN(listing.kind, one_kind(folder.files));
  for (const fs::path& file : folder.files) listing.units.push_back({file});
  return listing;
}

// ------------------------------------------------------------------------------------------------------ one unit

std::span<const std::byte> bytes_of(const std::string& content) { return std::as_bytes(std::span(content)); }

Error one_array_for_many(const fs::path& file, const std::vector<SampleInput>& inputs) {
  std::string names;
  for (const SampleInput& input : inputs) names += (names.empty() ? "'" : ", '") + input.spec.name + "'";
  return {Code::kInvalid,
          fmt::format("read {}: one array, but the model has {} inputs ({}): save all in a .npz file under "
                      "these names, or give each a subfolder",
                      file.string(), inputs.size(), names)};
}

// `count` of `all` positions, spread evenly.
std::vector<size_t> spread(size_t all, size_t count) {
  std::vector<size_t> places;
  for (size_t i = 0; i < std::min(all, count); ++i) places.push_back(i * all / std::min(all, count));
  return places;
}

// True if `tail`, the dimensions behind the first, is valid for a sample.
bool fits(std::span<const int64_t> tail, std::span<const int64_t> allowed) {
  if (tail.size() != allowed.size()) return false;
  for (size_t i = 0; i < tail.size(); ++i)
    if (allowed[i] >= 0 && tail[i] != allowed[i]) return false;
  return true;
}

// How an array of that shape holds samples of an input.
enum class Layout {
  kStack,       // along the first dimension, `rows` of it each
  kOne,         // one sample, as it is
  kOneWithout,  // one, without the first dimension of 1
  kStackOver,   // along a dimension of its own
  kNone,
};
Layout layout_of(const Shape& given, const SampleInput& input) {
  const Shape& run = input.shape;
  const std::span<const int64_t> allowed(input.spec.shape), dims(given);
  if (given.size() == run.size() && !run.empty() && run[0] > 0 && fits(dims.subspan(1), allowed.subspan(1)) &&
      given[0] % run[0] == 0 && given[0] > 0)
    return Layout::kStack;
  if (given.size() == run.size() && fits(dims, allowed)) return Layout::kOne;
  if (given.size() + 1 == run.size() && run[0] == 1 && fits(dims, allowed.subspan(1))) return Layout::kOneWithout;
  if (given.size() == run.size() + 1 && fits(dims.subspan(1), allowed) && given[0] > 0) return Layout::kStackOver;
  return Layout::kNone;
}

// The samples of one input in a file; at most those that are used.
struct Column {
  std::vector<Tensor> samples;
  size_t held = 0;  // by the file
};
using Columns = std::vector<Column>;  // per input

// The members of an archive by input; a single member serves a model with one input under any name.
Result<Columns> read_archive(const fs::path& file, const std::vector<SampleInput>& inputs,
                             std::vector<std::string>& notes) {
  RIDGE_ASSIGN(const std::string content, read_file(file.string(), kAnySize));
  RIDGE_ASSIGN(std::vector<NamedTensor> arrays, read_npz(bytes_of(content), file.string()));
  if (arrays.size() == 1 && inputs.size() == 1) arrays[0].name = inputs[0].spec.name;
  Columns columns;
  for (const SampleInput& input : inputs) {
    const auto found = std::find_if(arrays.begin(), arrays.end(),
                                    [&](const NamedTensor& array) { return array.name == input.spec.name; });
    if (found == arrays.end()) {
      std::string names;
      for (const NamedTensor& array : arrays) names += (names.empty() ? "'" : ", '") + array.name + "'";
      return Error{Code::kNotFound, fmt::format("read {}: no array for input '{}'; it holds {}", file.string(),
                                                input.spec.name, names.empty() ? "none" : names)};
    }
    RIDGE_ASSIGN(std::vector<Tensor> rows, split_rows(std::move(found->tensor), input,
                                                      fmt::format("{}, array '{}'", file.string(), found->name)));
    columns.push_back({std::move(rows), 0});
    columns.back().held = columns.back().samples.size();
  }
  if (arrays.size() > inputs.size()) notes.push_back("Arrays that match no input name were ignored.");
  return columns;
}

// Reads only the rows of `most` samples of a large array, spread evenly.
Result<Column> read_array(const fs::path& file, const SampleInput& input, size_t most) {
  Column column;
  const auto choose = [&](const Shape& shape) -> std::optional<std::vector<int64_t>> {
    const Layout layout = layout_of(shape, input);
    if (layout != Layout::kStack && layout != Layout::kStackOver) return std::nullopt;
    const int64_t each = layout == Layout::kStack ? input.shape[0] : 1;
    const auto held = static_cast<size_t>(shape[0] / each);
    if (held <= most) return std::nullopt;
    column.held = held;
    std::vector<int64_t> rows;
    for (const size_t place : spread(held, most))
      for (int64_t row = 0; row < each; ++row) rows.push_back(static_cast<int64_t>(place) * each + row);
    return rows;
  };
  RIDGE_ASSIGN(Tensor array, read_npy_file(file.string(), choose));
  RIDGE_ASSIGN(column.samples, split_rows(std::move(array), input, file.string()));
  if (column.held == 0) column.held = column.samples.size();
  return column;
}

Result<Column> read_one(const fs::path& file, Kind kind, const SampleInput& input, size_t most,
                        const std::optional<ImagePlan>& pictures) {
  if (kind != Kind::kImage) return read_array(file, input, most);
  RIDGE_ASSIGN(Tensor picture, read_image(file.string(), *pictures));
  RIDGE_ASSIGN(std::vector<Tensor> samples, split_rows(std::move(picture), input, file.string()));
  const size_t held = samples.size();
  return Column{std::move(samples), held};
}

Result<std::vector<Sample>> samples_of(Columns columns, const Unit& unit, const std::vector<SampleInput>& inputs) {
  for (size_t i = 1; i < columns.size(); ++i)
    if (columns[i].held != columns[0].held)
      return Error{Code::kInvalid,
                   fmt::format("read {}: {} rows for input '{}', {} for '{}'", unit.front().string(), columns[0].held,
                               inputs[0].spec.name, columns[i].held, inputs[i].spec.name)};
  // A column of strings is read as a whole, beside others of which only the used rows are.
  size_t count = columns[0].samples.size();
  for (const Column& column : columns) count = std::min(count, column.samples.size());
  std::vector<Sample> samples(count);
  for (Column& column : columns) {
    const std::vector<size_t> places = spread(column.samples.size(), count);
    for (size_t i = 0; i < count; ++i) samples[i].push_back(std::move(column.samples[places[i]]));
  }
  return samples;
}

// Ranges and deviations of infinities and NaN say nothing.
Status check_finite(const std::vector<Sample>& samples, const Unit& unit, const std::vector<SampleInput>& inputs) {
  for (const Sample& sample : samples)
    for (size_t i = 0; i < sample.size(); ++i) {
      if (!is_floating(sample[i].type)) continue;
      for (const double value : elements(sample[i].view()))
        if (!std::isfinite(value))
          return Error{Code::kInvalid,
                       fmt::format("read {}: a value for input '{}' is {}; samples must be finite numbers",
                                   unit[unit.size() == sample.size() ? i : 0].string(), inputs[i].spec.name, value)};
    }
  return {};
}

struct Reading {
  const std::vector<SampleInput>& inputs;
  Kind kind;
  std::vector<std::optional<ImagePlan>> pictures;  // per input; kImage only
  std::vector<std::string>& notes;
};

// `most` samples at most of each array.
Result<std::vector<Sample>> read_unit(const Unit& unit, size_t most, Reading& reading) {
  if (reading.kind == Kind::kNpz && unit.size() == 1) {
    RIDGE_ASSIGN(Columns columns, read_archive(unit[0], reading.inputs, reading.notes));
    return samples_of(std::move(columns), unit, reading.inputs);
  }
  if (unit.size() != reading.inputs.size()) return one_array_for_many(unit[0], reading.inputs);
  Columns columns;
  for (size_t i = 0; i < unit.size(); ++i) {
    RIDGE_ASSIGN(Column column, read_one(unit[i], reading.kind, reading.inputs[i], most, reading.pictures[i]));
    columns.push_back(std::move(column));
  }
  return samples_of(std::move(columns), unit, reading.inputs);
}

Result<std::vector<std::optional<ImagePlan>>> plan_pictures(const Listing& listing,
                                                            const std::vector<SampleInput>& inputs,
                                                            const ImageOptions& options,
                                                            std::vector<std::string>& notes) {
  std::vector<std::optional<ImagePlan>> plans(inputs.size());
  if (listing.kind != Kind::kImage || listing.units[0].size() != inputs.size()) return plans;
  for (size_t i = 0; i < inputs.size(); ++i) {
    TensorSpec spec{inputs[i].spec.name, inputs[i].spec.type, inputs[i].shape};
    RIDGE_ASSIGN(plans[i], plan_images(spec, options));
    notes.push_back("Pictures were " + describe(*plans[i]) + ".");
  }
  return plans;
}

std::string what_of(const Listing& listing, size_t count) {
  const bool one = count == 1;
  const bool recorded = listing.kind == Kind::kNpz && listing.units[0][0].filename().string().starts_with(kRecorded);
  const char* noun = listing.kind == Kind::kImage ? (one ? "picture" : "pictures")
                     : recorded                   ? (one ? "row of recorded requests" : "rows of recorded requests")
                                                  : (one ? "row" : "rows");
  return fmt::format("{} {} of {}", count, noun, listing.folder.string());
}

// Pieces of a BYTES block of `elements` strings each.
std::vector<Buffer> cut_strings(std::span<const std::byte> block, size_t pieces, size_t elements) {
  std::vector<Buffer> result;
  size_t at = 0;
  for (size_t piece = 0; piece < pieces; ++piece) {
    const size_t start = at;
    for (size_t i = 0; i < elements; ++i) {
      uint32_t length = 0;
      std::memcpy(&length, block.data() + at, sizeof length);
      at += sizeof length + length;
    }
    Buffer buffer(at - start);
    if (at > start) std::memcpy(buffer.data(), block.data() + start, at - start);
    result.push_back(std::move(buffer));
  }
  return result;
}

std::vector<Tensor> cut(const Tensor& array, size_t pieces, const Shape& shape) {
  std::vector<Tensor> result;
  if (array.type == DataType::kBytes) {
    const auto elements = static_cast<size_t>(element_count(shape).value_or(0));
    for (Buffer& buffer : cut_strings(array.data.span(), pieces, elements))
      result.push_back({array.type, shape, std::move(buffer)});
    return result;
  }
  const size_t size = byte_size(array.type, shape).value_or(0);
  for (size_t piece = 0; piece < pieces; ++piece) {
    Tensor tensor{array.type, shape, Buffer(size)};
    if (size > 0) std::memcpy(tensor.data.data(), array.data.data() + piece * size, size);
    result.push_back(std::move(tensor));
  }
  return result;
}

}  // namespace

Result<std::vector<Tensor>> split_rows(Tensor array, const SampleInput& input, const std::string& what) {
  if (array.type != input.spec.type) {
    RIDGE_ASSIGN(array, converted(array.view(), input.spec.type, what));
  }
  const Shape& given = array.shape;
  if (element_count(given) == 0)
    return invalid(
        fmt::format("read {}: its shape {} holds no samples for input '{}'", what, shape_text(given), input.spec.name));
  const auto pieces_of = [&](const Shape& shape, int64_t count) {
    return cut(array, static_cast<size_t>(count), shape);
  };
  Shape shape = given;
  switch (layout_of(given, input)) {
    case Layout::kStack: shape[0] = input.shape[0]; return pieces_of(shape, given[0] / input.shape[0]);
    case Layout::kOne: return pieces_of(given, 1);
    case Layout::kOneWithout: shape.insert(shape.begin(), 1); return pieces_of(shape, 1);
    case Layout::kStackOver: return pieces_of(Shape(given.begin() + 1, given.end()), given[0]);
    case Layout::kNone: break;
  }
  return Error{Code::kInvalid,
               fmt::format("read {}: its shape {} is neither one sample nor a stack of samples for input "
                           "'{}' of shape {}",
                           what, shape_text(given), input.spec.name, shape_text(input.spec.shape))};
}

Result<SampleFiles> read_sample_files(const std::string& path, const std::vector<SampleInput>& inputs,
                                      const ImageOptions& images, size_t most, uint64_t seed) {
  if (inputs.empty()) return Error{Code::kInvalid, "the model has no inputs to read samples for"};
  RIDGE_ASSIGN(Listing listing, list(path, inputs));
  SampleFiles found;
  Reading reading{inputs, listing.kind, {}, found.notes};
  RIDGE_ASSIGN(reading.pictures, plan_pictures(listing, inputs, images, found.notes));
  if (listing.ignored > 0)
    found.notes.push_back(fmt::format("{} other files in {} were ignored.", listing.ignored, listing.folder.string()));
  std::mt19937_64 random(seed);
  for (size_t i = listing.units.size(); i > 1; --i) std::swap(listing.units[i - 1], listing.units[random() % i]);
  size_t files = 0;
  for (const Unit& unit : listing.units) {
    if (found.samples.size() >= most) break;
    RIDGE_ASSIGN(std::vector<Sample> samples, read_unit(unit, most - found.samples.size(), reading));
    RIDGE_TRY(check_finite(samples, unit, inputs));
    ++files;
    for (size_t place : spread(samples.size(), most - found.samples.size()))
      found.samples.push_back(std::move(samples[place]));
  }
  if (found.samples.empty()) return Error{Code::kNotFound, fmt::format("read samples {}: it holds no rows", path)};
  if (files < listing.units.size())
    found.notes.push_back(
        fmt::format("{} of {} files were read, chosen by seed {}.", files, listing.units.size(), seed));
  std::sort(found.notes.begin(), found.notes.end());
  found.notes.erase(std::unique(found.notes.begin(), found.notes.end()), found.notes.end());
  found.what = what_of(listing, found.samples.size());
  return found;
}

}  // namespace ridge::precision
