// To the service manager that started this process: the service is ready.
#pragma once

#include "base/result.h"

namespace ridge::power {

// Sends READY=1 to the socket named by $NOTIFY_SOCKET (sd_notify(3)); does nothing without one. Error: no listener, or the name
// is too long for a socket.
Status notify_ready();

}  // namespace ridge::power
