#include "power/notify.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace ridge::power {

Status notify_ready() {
  const char* name = std::getenv("NOTIFY_SOCKET");
  if (name == nullptr || *name == '\0') return {};
  auto failed = [&](int problem) {
    return Error{Code::kFailed, fmt::format("notify the service manager at {}: {}", name, strerror(problem))};
  };
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  const size_t length = std::strlen(name);
  if (length >= sizeof address.sun_path) return failed(ENAMETOOLONG);
  std::memcpy(address.sun_path, name, length);
  if (*name == '@') address.sun_path[0] = '\0';  // not in the file system (unix(7))
  const int connection = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (connection < 0) return failed(errno);
  constexpr std::string_view kReady = "READY=1";
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length);
  const ssize_t sent =
      sendto(connection, kReady.data(), kReady.size(), MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&address), size);
  const int problem = errno;
  close(connection);
  return sent < 0 ? Status(failed(problem)) : Status{};
}

}  // namespace ridge::power
