#include "model/model_file.h"

#include <fcntl.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <google/protobuf/stubs/logging.h>
#include <onnx/onnx_pb.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <utility>

#include "base/descriptor.h"
#include "base/units.h"

namespace ridge::model {
namespace {

constexpr int64_t kProtobufLimit = std::numeric_limits<int>::max();  // [bytes] of one message

// --------------------------------------------------------------------------------------- why a file is not a model

// Reads up to `size` bytes at `offset`; fewer at the end.
using ReadAt = std::function<std::string(int64_t offset, size_t size)>;

struct Varint {
  uint64_t value = 0;
  int64_t length = 0;
};

std::optional<Varint> varint_at(const ReadAt& read, int64_t offset) {
  Varint varint;
  for (char c : read(offset, 10)) {
    varint.value |= static_cast<uint64_t>(c & 0x7F) << (7 * varint.length);
    ++varint.length;
    if ((c & 0x80) == 0) return varint;
  }
  return std::nullopt;
}

enum class Wire { kComplete, kCutOff, kForeign };

// Walks the outermost fields: do they look like a ModelProto, and do they fit in `size` bytes?
Wire walk(const ReadAt& read, int64_t size) {
  constexpr uint64_t kHighestField = 64;  // far above ModelProto's highest, 25
  int64_t at = 0;
  while (at < size) {
    std::optional<Varint> tag = varint_at(read, at);
    if (!tag) return size - at < 10 ? Wire::kCutOff : Wire::kForeign;
    const uint64_t number = tag->value >> 3;
    const uint64_t kind = tag->value & 7;
    if (number == 0 || number > kHighestField || (kind != 0 && kind != 2)) return Wire::kForeign;
    at += tag->length;
    std::optional<Varint> value = varint_at(read, at);
    if (!value) return Wire::kCutOff;
    at += value->length;
    if (kind == 0) continue;
    if (value->value > static_cast<uint64_t>(kProtobufLimit)) return Wire::kForeign;
    if (static_cast<int64_t>(value->value) > size - at) return Wire::kCutOff;
    at += static_cast<int64_t>(value->value);
  }
  return Wire::kComplete;
}

// The command that exports a file of another format: "{in}" stands for its path, "{folder}" for its folder, "{stem}"
// for its path without the suffix. ridge runs none of them.
constexpr std::string_view kFromTorch =
    "; if it is a whole module, export it by python3 -c \"import torch; m = torch.load('{in}', weights_only=False); "
    "torch.onnx.export(m.eval(), (torch.randn(1, 3, 224, 224),), '{stem}.onnx')\" with the input's own shape; if it "
    "holds "
    "weights alone, build the module first";
constexpr std::string_view kFromKeras =
    "; export it by python3 -c \"import keras; keras.saving.load_model('{in}').export('{stem}.onnx', format='onnx')\"";
constexpr std::string_view kFromHub = "; export it by optimum-cli export onnx --model {folder} {folder}/onnx";
constexpr std::string_view kFromLite = "; export it by python3 -m tf2onnx.convert --tflite {in} --output {stem}.onnx";

struct Format {
  std::string_view suffix;  // of the file's name; empty: any
  size_t offset;
  std::string_view bytes;  // of the file, there
  std::string_view what;
  std::string_view remedy;
};

// Files often passed by mistake; the first row that fits counts.
constexpr std::array<Format, 11> kFormats = {{
    {".keras", 0, "PK\x03\x04", "a Keras model", kFromKeras},
    {"", 0, "\x89HDF", "HDF5, as Keras models are", kFromKeras},
    {"", 0, "PK\x03\x04", "a zip archive, as PyTorch checkpoints are", kFromTorch},
    {"", 0, "\x80\x02", "a Python pickle, as old PyTorch checkpoints are", kFromTorch},
    {"", 8, "{\"", "safetensors, weights without a graph", kFromHub},
    {"", 4, "TFL3", "TensorFlow Lite", kFromLite},
    {"", 0, "GGUF", "GGUF, llama.cpp's format", "; it is taken by a name that ends in .gguf"},
    {"", 4, "ORTM", "ONNX Runtime's own format (.ort)", "; use the .onnx file it was made from"},
    {"", 0, "version https://git-lfs", "a Git LFS pointer, not the file itself", "; fetch it with git lfs pull"},
    {".xml", 0, "<?xml", "OpenVINO's IR", "; give the .onnx file that it was made from"},
    {".xml", 0, "<net", "OpenVINO's IR", "; give the .onnx file that it was made from"},
}};

std::string filled(std::string_view remedy, const std::string& path) {
  const std::filesystem::path file(path.empty() ? "FILE" : path);
  const std::string folder = file.has_parent_path() ? file.parent_path().string() : ".";
  const std::pair<std::string_view, std::string> values[] = {
      {"{in}", file.string()},
      {"{folder}", folder},
      {"{stem}", std::filesystem::path(file).replace_extension().string()}};
  std::string text(remedy);
  for (const auto& [key, value] : values)
    for (size_t at = text.find(key); at != std::string::npos; at = text.find(key, at + value.size()))
      text.replace(at, key.size(), value);
  return text;
}

std::string looks_like(const ReadAt& read, const std::string& path) {
  const std::string head = read(0, 64);
  for (const Format& format : kFormats)
    if (path.ends_with(format.suffix) && head.size() > format.offset &&
        head.compare(format.offset, format.bytes.size(), format.bytes) == 0)
      return "; it looks like " + std::string(format.what) + filled(format.remedy, path);
  const bool text =
      std::all_of(head.begin(), head.end(), [](char c) { return (c >= ' ' && c != 0x7F) || (c >= '\t' && c <= '\r'); });
  return text ? "; it looks like text" : "";
}

Error diagnose(const ReadAt& read, int64_t size, const std::string& path) {
  const std::string likeness = looks_like(read, path);
  if (likeness.empty() && walk(read, size) == Wire::kCutOff)
    return invalid("the file is cut off: its " + std::to_string(size) +
                   " bytes end inside the model; copy or download it again");
  return invalid("not an ONNX model" + likeness);
}

// Says what a folder holds instead of a model.
Error is_folder(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  std::string inside;
  for (fs::directory_iterator entries(path, error); !error && entries != fs::directory_iterator();
       entries.increment(error))
    if (entries->path().extension() == ".onnx" && (inside.empty() || entries->path().string() < inside))
      inside = entries->path().string();
  if (!inside.empty()) return invalid("it is a folder; name the .onnx file in it: " + inside);
  if (fs::exists(fs::path(path) / "saved_model.pb", error))
    return invalid("it is a TensorFlow SavedModel; export it by python3 -m tf2onnx.convert --saved-model " + path +
                   " --output model.onnx");
  if (fs::exists(fs::path(path) / "config.json", error))
    return invalid("it is a folder of Hugging Face's form" +
                   filled(kFromHub, (fs::path(path) / "config.json").string()) + "; ridge plan " +
                   (fs::path(path) / "config.json").string() + " sizes a language model");
  return invalid("it is a folder; name the .onnx file in it");
}

// Protobuf skips unknown fields, so some foreign files parse.
bool is_model(const onnx::ModelProto& model) { return model.has_graph() && model.ir_version() > 0; }

Status check_size(int64_t size) {
  if (size == 0) return invalid("the file is empty");
  if (size > kProtobufLimit)
    return Error{Code::kUnsupported,
                 "the file has " + format_bytes(static_cast<double>(size)) +
                     ", and ONNX files end at 2 GiB; save the model with its weights as external data"};
  return {};
}

}  // namespace

Status load(const std::string& path, onnx::ModelProto& model, Descriptor* opened) {
  Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) return Error{errno == ENOENT ? Code::kNotFound : Code::kFailed, std::strerror(errno)};
  struct stat status {};
  if (fstat(file.number(), &status) != 0) return Error{Code::kFailed, std::strerror(errno)};
  if (S_ISDIR(status.st_mode)) return is_folder(path);
  if (!S_ISREG(status.st_mode)) return invalid("it is not a regular file");
  RIDGE_TRY(check_size(status.st_size));
  const google::protobuf::LogSilencer silencer;  // reported once, below
  constexpr int kBlock = 1 << 20;                // [bytes]
  google::protobuf::io::FileInputStream stream(file.number(), kBlock);
  const bool parsed = model.ParseFromZeroCopyStream(&stream) && is_model(model);
  if (parsed) {
    if (opened != nullptr) *opened = std::move(file);
    return {};
  }
  const ReadAt read = [&](int64_t offset, size_t size) {
    std::string bytes(size, '\0');
    const ssize_t got = pread(file.number(), bytes.data(), size, offset);
    bytes.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
    return bytes;
  };
  return diagnose(read, status.st_size, path);
}

Status parse(std::string_view bytes, onnx::ModelProto& model) {
  const auto size = static_cast<int64_t>(bytes.size());
  RIDGE_TRY(check_size(size));
  const google::protobuf::LogSilencer silencer;
  if (model.ParseFromArray(bytes.data(), static_cast<int>(size)) && is_model(model)) return {};
  const ReadAt read = [&](int64_t offset, size_t wanted) {
    return offset < size ? std::string(bytes.substr(static_cast<size_t>(offset), wanted)) : std::string();
  };
  return diagnose(read, size, "");
}

}  // namespace ridge::model
