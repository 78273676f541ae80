#include "base/npz.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/npy.h"

namespace ridge {
namespace {

// APPNOTE 4.3.7, 4.3.12 and 4.3.16: signatures, fixed sizes [bytes] and offsets of fields.
constexpr uint32_t kLocalHeader = 0x04034b50, kCentralHeader = 0x02014b50, kEnd = 0x06054b50;
constexpr size_t kLocalSize = 30, kCentralSize = 46, kEndSize = 22, kLongestComment = 0xffff;
constexpr uint16_t kStored = 0, kDeflated = 8;
constexpr uint16_t kVersion = 20;               // required to unpack: 2.0
constexpr uint16_t kFirstDay = 1 << 5 | 1;      // 1 January 1980 in MS-DOS form; arrays have no date
constexpr uint32_t kInZip64 = 0xffffffff;       // the value is in a ZIP64 extra field
constexpr uint64_t kLimit = uint64_t{1} << 32;  // [bytes] of archives without ZIP64

struct Member {
  std::string name;
  uint16_t flags = 0, method = 0;
  uint32_t crc = 0;
  uint64_t packed = 0, unpacked = 0, offset = 0;
};

uint32_t number_at(std::span<const std::byte> bytes, size_t at, size_t width) {
  uint32_t value = 0;
  for (size_t i = 0; i < width; ++i) value |= std::to_integer<uint32_t>(bytes[at + i]) << 8 * i;
  return value;
}
uint32_t word16(std::span<const std::byte> bytes, size_t at) { return number_at(bytes, at, 2); }
uint32_t word32(std::span<const std::byte> bytes, size_t at) { return number_at(bytes, at, 4); }

// Offset of the end record: the last one whose comment reaches to the end of the file.
Result<size_t> find_end(std::span<const std::byte> bytes, std::string_view what) {
  for (size_t back = kEndSize; back <= std::min(bytes.size(), kEndSize + kLongestComment); ++back) {
    const size_t at = bytes.size() - back;
    if (word32(bytes, at) == kEnd && word16(bytes, at + 20) == back - kEndSize) return at;
  }
  return unreadable_array(what, "this is not a .npz file, or it is cut off (no end of a zip archive is in it)");
}

Result<std::vector<Member>> list(std::span<const std::byte> bytes, std::string_view what) {
  RIDGE_ASSIGN(const size_t end, find_end(bytes, what));
  const size_t count = word16(bytes, end + 10);
  size_t at = word32(bytes, end + 16);
  if (count == 0xffff || at == kInZip64)
    return unreadable_array(what, "the archive has 65535 members or 4 GiB and more; save fewer arrays per file");
  std::vector<Member> members;
  for (size_t i = 0; i < count; ++i) {
    if (at > end || end - at < kCentralSize || word32(bytes, at) != kCentralHeader)
      return unreadable_array(what, "the archive's directory is damaged");
    const size_t name = word16(bytes, at + 28), extra = word16(bytes, at + 30), comment = word16(bytes, at + 32);
    if (end - at - kCentralSize < name + extra + comment)
      return unreadable_array(what, "the archive's directory is damaged");
    Member member;
    member.name.assign(reinterpret_cast<const char*>(bytes.data()) + at + kCentralSize, name);
    member.flags = static_cast<uint16_t>(word16(bytes, at + 8));
    member.method = static_cast<uint16_t>(word16(bytes, at + 10));
    member.crc = word32(bytes, at + 16);
    member.packed = word32(bytes, at + 20);
    member.unpacked = word32(bytes, at + 24);
    member.offset = word32(bytes, at + 42);
    members.push_back(std::move(member));
    at += kCentralSize + name + extra + comment;
  }
  return members;
}

// The member's bytes as stored in the archive.
Result<std::span<const std::byte>> packed_bytes(std::span<const std::byte> bytes, const Member& member,
                                                std::string_view what) {
  const auto refuse = [&](const char* why) {
    return unreadable_array(what, fmt::format("member '{}': {}", member.name, why));
  };
  if (member.flags & 1) return refuse("it is encrypted");
  if (member.packed == kInZip64 || member.unpacked == kInZip64 || member.offset == kInZip64)
    return refuse("it has 4 GiB or more; save fewer rows per file");
  if (member.offset > bytes.size() || bytes.size() - member.offset < kLocalSize ||
      word32(bytes, member.offset) != kLocalHeader)
    return refuse("it is not where the archive's directory says");
  const uint64_t start =
      member.offset + kLocalSize + word16(bytes, member.offset + 26) + word16(bytes, member.offset + 28);
  if (start > bytes.size() || bytes.size() - start < member.packed) return refuse("the file is cut off in it");
  return bytes.subspan(start, member.packed);
}

// Raw deflate of exactly `size` bytes; empty on failure.
bool inflate_into(std::span<const std::byte> packed, std::span<std::byte> unpacked) {
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return false;
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed.data()));  // zlib's interface is not const
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(unpacked.data());
  stream.avail_out = static_cast<uInt>(unpacked.size());
  const bool done = inflate(&stream, Z_FINISH) == Z_STREAM_END && stream.avail_out == 0;
  inflateEnd(&stream);
  return done;
}

uint32_t crc_of(std::span<const std::byte> bytes) {
  return static_cast<uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

// Deflate packs at most 1032 : 1 (zlib's technical notes): rejects a larger size before allocating.
constexpr uint64_t kMostPacking = 1032;

Result<Tensor> read_member(std::span<const std::byte> bytes, const Member& member, std::string_view what) {
  RIDGE_ASSIGN(const std::span<const std::byte> packed, packed_bytes(bytes, member, what));
  const std::string name = fmt::format("{}, member '{}'", what, member.name);
  Buffer unpacked;
  std::span<const std::byte> content = packed;
  if (member.method == kDeflated) {
    if (member.unpacked > kMostPacking * (packed.size() + 1)) return unreadable_array(name, "its size is impossible");
    unpacked = Buffer(member.unpacked);
    if (!inflate_into(packed, unpacked.span())) return unreadable_array(name, "its compressed data is damaged");
    content = unpacked.span();
  } else if (member.method != kStored) {
    return unreadable_array(
        name, fmt::format("compression method {}; readable are stored and deflated members", member.method));
  }
  if (content.size() != member.unpacked || crc_of(content) != member.crc)
    return unreadable_array(name, "its checksum or size is wrong: the file is damaged");
  return read_npy(content, name);
}

void put(std::string& text, uint32_t value, size_t width) {
  for (size_t i = 0; i < width; ++i) text += static_cast<char>(value >> 8 * i & 0xff);
}

// The fields that local and central headers share, APPNOTE 4.4.2 to 4.4.11.
void put_fields(std::string& file, const Member& member) {
  put(file, kVersion, 2);
  put(file, 1 << 11, 2);  // names are UTF-8
  put(file, kStored, 2);
  put(file, 0, 2);
  put(file, kFirstDay, 2);
  put(file, member.crc, 4);
  put(file, static_cast<uint32_t>(member.packed), 4);
  put(file, static_cast<uint32_t>(member.unpacked), 4);
  put(file, static_cast<uint32_t>(member.name.size()), 2);
  put(file, 0, 2);
}

void put_directory(std::string& file, const std::vector<Member>& members) {
  const size_t start = file.size();
  for (const Member& member : members) {
    put(file, kCentralHeader, 4);
    put(file, kVersion, 2);
    put_fields(file, member);
    file.append(10, '\0');  // no comment; the first disk; no attributes
    put(file, static_cast<uint32_t>(member.offset), 4);
    file += member.name;
  }
  const size_t size = file.size() - start;
  put(file, kEnd, 4);
  put(file, 0, 4);
  put(file, static_cast<uint32_t>(members.size()), 2);
  put(file, static_cast<uint32_t>(members.size()), 2);
  put(file, static_cast<uint32_t>(size), 4);
  put(file, static_cast<uint32_t>(start), 4);
  put(file, 0, 2);
}

}  // namespace

Result<std::vector<NamedTensor>> read_npz(std::span<const std::byte> bytes, std::string_view what,
                                          uint64_t most_bytes) {
  RIDGE_ASSIGN(const std::vector<Member> members, list(bytes, what));
  uint64_t total = 0;
  std::vector<NamedTensor> arrays;
  for (const Member& member : members) {
    total += member.unpacked;
    if (total > most_bytes)
      return unreadable_array(
          what, fmt::format("it unpacks to more than {} MiB; save fewer rows per file", most_bytes >> 20));
    RIDGE_ASSIGN(Tensor tensor, read_member(bytes, member, what));
    std::string name = member.name;
    if (name.ends_with(".npy")) name.resize(name.size() - 4);
    arrays.push_back({std::move(name), std::move(tensor)});
  }
  return arrays;
}

Result<std::string> write_npz(std::span<const NamedView> arrays) {
  if (arrays.size() >= 0xffff) return Error{Code::kInvalid, "write a .npz file: more than 65534 arrays"};
  std::string file;
  std::vector<Member> members;
  for (const NamedView& array : arrays) {
    RIDGE_ASSIGN(const std::string content, write_npy(array.tensor));
    Member member;
    member.name = array.name + ".npy";
    member.crc = crc_of(std::as_bytes(std::span(content)));
    member.packed = member.unpacked = content.size();
    member.offset = file.size();
    if (member.name.size() > 0xffff || file.size() + content.size() + (uint64_t{1} << 24) >= kLimit)
      return Error{Code::kInvalid, "write a .npz file: names or arrays are too large for it (4 GiB in all)"};
    put(file, kLocalHeader, 4);
    put_fields(file, member);
    file += member.name;
    file += content;
    members.push_back(std::move(member));
  }
  put_directory(file, members);
  return file;
}

}  // namespace ridge
