#include "zoo/safetensors_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "base/descriptor.h"
#include "base/half.h"
#include "base/json.h"
#include "base/tensor.h"
#include "zoo/random.h"

namespace ridge::zoo {
namespace {

static_assert(std::endian::native == std::endian::little);  // as the format wants it

constexpr int64_t kElementBytes = 2;    // BF16
constexpr int64_t kPiece = 1 << 20;     // elements that a thread generates at a time
constexpr int64_t kDataAlignment = 64;  // of the first tensor, for readers that map the file
constexpr unsigned kMostWriters = 8;    // more than a disk takes

struct Piece {
  const Weight* weight = nullptr;
  uint64_t key = 0;
  int64_t first = 0, count = 0;  // elements of the weight
  int64_t offset = 0;            // [bytes] in the file
};

int64_t elements_of(const Weight& weight) { return element_count(weight.shape).value(); }

// Size and JSON, padded with blanks as the format allows.
std::string header_of(std::span<const Weight> weights) {
  Json header = {{"__metadata__", {{"format", "pt"}}}};
  int64_t at = 0;
  for (const Weight& weight : weights) {
    const int64_t end = at + elements_of(weight) * kElementBytes;
    header[weight.name] = {{"dtype", "BF16"}, {"shape", weight.shape}, {"data_offsets", Json::array({at, end})}};
    at = end;
  }
  std::string text = dump_json(header);
  while ((sizeof(uint64_t) + text.size()) % kDataAlignment != 0) text += ' ';
  const uint64_t size = text.size();
  return std::string(reinterpret_cast<const char*>(&size), sizeof size) + text;
}

std::vector<Piece> pieces_of(std::span<const Weight> weights, uint64_t seed, int64_t offset) {
  std::vector<Piece> pieces;
  for (size_t i = 0; i < weights.size(); ++i) {
    const int64_t elements = elements_of(weights[i]);
    for (int64_t first = 0; first < elements; first += kPiece) {
      const int64_t count = std::min(kPiece, elements - first);
      pieces.push_back({&weights[i], stream_key(seed, i), first, count, offset});
      offset += count * kElementBytes;
    }
  }
  return pieces;
}

// 0 or errno.
int write_at(int file, const void* data, size_t size, int64_t offset) {
  const char* bytes = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t written = pwrite(file, bytes, size, offset);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    bytes += written;
    offset += written;
    size -= static_cast<size_t>(written);
  }
  return 0;
}

// Takes pieces until there are none, or a thread failed.
void write_pieces(int file, const std::vector<Piece>& pieces, std::atomic<size_t>& next, std::atomic<int>& failure) {
  std::vector<float> values;
  std::vector<uint16_t> stored;
  for (size_t i = next++; i < pieces.size() && failure == 0; i = next++) {
    const Piece& piece = pieces[i];
    values.resize(static_cast<size_t>(piece.count));
    stored.resize(values.size());
    fill_uniform(values, piece.key, static_cast<uint64_t>(piece.first), piece.weight->mean, piece.weight->deviation);
    std::transform(values.begin(), values.end(), stored.begin(), to_bf16);
    if (const int error = write_at(file, stored.data(), stored.size() * sizeof(uint16_t), piece.offset); error != 0)
      failure = error;
  }
}

Error write_error(const std::string& path, int number) {
  const bool full = number == ENOSPC || number == EDQUOT || number == EFBIG;
  return {full ? Code::kExhausted : Code::kFailed,
          "write " + path + ": " + std::strerror(number) + "; nothing was left behind"};
}

}  // namespace

Status write_safetensors(std::span<const Weight> weights, uint64_t seed, const std::string& path) {
  const Descriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!file) return write_error(path, errno);
  const std::string header = header_of(weights);
  if (const int error = write_at(file.number(), header.data(), header.size(), 0); error != 0)
    return write_error(path, error);
  const std::vector<Piece> pieces = pieces_of(weights, seed, static_cast<int64_t>(header.size()));
  std::atomic<size_t> next = 0;
  std::atomic<int> failure = 0;
  {
    std::vector<std::jthread> writers;
    for (unsigned i = 0; i < std::clamp(std::thread::hardware_concurrency(), 1U, kMostWriters); ++i)
      writers.emplace_back([&] { write_pieces(file.number(), pieces, next, failure); });
  }
  return failure == 0 ? Status() : write_error(path, failure);
}

}  // namespace ridge::zoo
