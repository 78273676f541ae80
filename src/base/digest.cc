#include "base/digest.h"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include "base/file.h"

namespace ridge {
namespace {

constexpr size_t kChunk = 1 << 20;  // [bytes]
constexpr size_t kKept = 8;         // [bytes] of the digest

class Sha256 {
 public:
  Sha256() { EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr); }
  void add(std::string_view piece) { EVP_DigestUpdate(context_.get(), piece.data(), piece.size()); }
  std::string text() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    EVP_DigestFinal_ex(context_.get(), digest.data(), nullptr);
    std::string text;
    for (size_t i = 0; i < kKept; ++i) text += fmt::format("{:02x}", digest[i]);
    return text;
  }

 private:
  struct Free {
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  };
  const std::unique_ptr<EVP_MD_CTX, Free> context_{EVP_MD_CTX_new()};
};

Result<std::string> digest_file(const std::string& path, const Descriptor& file) {
  Sha256 digest;
  std::string chunk(kChunk, '\0');
  for (off_t at = 0;;) {
    const ssize_t got = pread(file.number(), chunk.data(), kChunk, at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Error{Code::kFailed, "read " + path + ": " + std::strerror(errno)};
    if (got == 0) return digest.text();
    digest.add(std::string_view(chunk.data(), static_cast<size_t>(got)));
    at += got;
  }
}

}  // namespace

std::string digest_text(std::string_view text) {
  Sha256 digest;
  digest.add(text);
  return digest.text();
}

Result<std::string> digest_files(const std::vector<std::string>& files, const Descriptor* first) {
  std::string digests;
  for (const std::string& path : files) {
    Descriptor file;
    if (first == nullptr) {
      RIDGE_ASSIGN(file, open_regular_file(path));
    }
    RIDGE_ASSIGN(const std::string digest, digest_file(path, first == nullptr ? file : *first));
    first = nullptr;
    digests += digest;
  }
  return files.size() == 1 ? digests : digest_text(digests);
}

}  // namespace ridge
