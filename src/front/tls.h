// TLS settings of a port, from PEM files: certificate, key and, for mutual TLS, the authorities of clients.
//
// TLS 1.2 and 1.3. No message of an error or of the log holds a part of a file.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "front/reloaded.h"

struct ssl_ctx_st;  // OpenSSL's SSL_CTX

namespace ridge::front {

struct TlsFiles {
  std::string certificate;  // the server's own first, then those between it and its authority
  std::string key;          // not encrypted
  std::string client_ca;    // clients must have a certificate of one of these authorities; empty: they need none
};

struct TlsMaterial {
  std::shared_ptr<ssl_ctx_st> context;
};

using Tls = Reloaded<TlsMaterial>;

// Errors: a file cannot be read, holds no PEM of its kind; the key is encrypted, or not the certificate's; the
// certificate is not valid now.
Result<TlsMaterial> read_tls(const TlsFiles& files);
Result<std::shared_ptr<Tls>> open_tls(const TlsFiles& files);

}  // namespace ridge::front
