// Listener: a listening socket: of an address and port, of a path ("unix:/run/ridge.sock"), or the service manager's.
//
// A path's socket belongs to this process: one that an ended process has left is replaced, one that answers is not, and
// the file is removed with its owner.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "base/descriptor.h"
#include "base/result.h"

namespace ridge::front {

inline bool is_unix_address(const std::string& address) { return address.starts_with("unix:"); }

// The file of a Unix socket that this process made. Move-only.
class SocketFile {
 public:
  SocketFile() = default;
  explicit SocketFile(std::string path);
  SocketFile(SocketFile&& other) noexcept
      : path_(std::exchange(other.path_, "")), device_(other.device_), inode_(other.inode_) {}
  SocketFile& operator=(SocketFile&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(device_, other.device_);
    std::swap(inode_, other.inode_);
    return *this;
  }
  ~SocketFile();  // removes it, unless another process has put its own there

 private:
  std::string path_;  // empty: none
  uint64_t device_ = 0, inode_ = 0;
};

struct Listener {
  SocketFile file;
  Descriptor socket;  // listens, does not block
  int family = 0;     // AF_INET, AF_INET6, AF_UNIX
  uint16_t port = 0;  // 0: a path's
  std::string name;   // "0.0.0.0:8000", "[::]:8000", "unix:/run/ridge.sock"
};

struct ListenOptions {
  std::string address;        // an IP address, "localhost" or "unix:PATH"
  uint16_t port = 0;          // 0: any free one
  uint32_t unix_mode = 0660;  // permissions of a path
};

// kInvalid: not an address. kFailed: the port or the path is taken, …
Result<Listener> listen_on(const ListenOptions& options);
// Takes a descriptor that the service manager passed. kInvalid: not a stream socket that listens.
Result<Listener> listen_on_passed(Descriptor socket);

}  // namespace ridge::front
