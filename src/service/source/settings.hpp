// What a Sources is made of: which originals may be fetched, from where, in which bounds.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <framewire/engine.hpp>
#include <framewire/status.hpp>
#include <functional>
#include <store/object_store.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace framewire::service::source {

/// Gives memory for one original: exactly `bytes` long, writable, on the host; as
/// Engine::input_slice(). Called from threads of the module, several at once; must not block long.
/// An error is answered as `busy`. May throw std::bad_alloc.
using Allocate = std::function<Result<InputSlice>(std::size_t bytes)>;

/// Which addresses beyond public ones an origin may have. One permission does not give another.
struct AddressPolicy {
  bool allow_loopback = false;    ///< 127.0.0.0/8, ::1
  bool allow_link_local = false;  ///< 169.254.0.0/16, fe80::/10
  bool allow_private = false;     ///< RFC 1918, 100.64.0.0/10, fc00::/7
};

/// Which objects of an object store may be fetched, and how. Bucket names are compared whole, with
/// their capitals.
struct ObjectSettings {
  bool on = false;  ///< whether s3:// URLs are fetched at all
  /// Buckets whose objects may be fetched; empty: all that the credentials open.
  std::vector<std::string> allowed_buckets;
  std::vector<std::string> denied_buckets;  ///< whatever allowed_buckets says
  /// What stands between a key and the version of the object; empty: URLs name no versions.
  std::string version_separator = "?";
  store::StoreSettings store;
  unsigned in_flight = 256;  ///< objects at once; fetch() refuses one more as `busy`
};

/// Chosen once, when a Sources is made. A bound of 0 is refused by Sources::make().
struct SourceSettings {
  /// Folder that `local:///path` and bare paths are looked up below; empty: no files are served.
  std::string root;
  /// Whether http:// and https:// URLs are fetched at all.
  bool remote = false;
  /// URLs that may be fetched, at most 1,024; empty: any. An entry is scheme, host, port if it is
  /// not the scheme's own, and a path: `https://images.example.com/photos/`. The path matches
  /// itself and, on whole segments, everything below it; one that ends with `/` matches only what
  /// is below.
  /// `*` stands for one or more characters of the host, or of one segment of the path; as the
  /// port, for any port. Redirects are compared as well. Files match as `local:///path`, objects as
  /// `s3://bucket/key`, without their version.
  std::vector<std::string> allowed_sources;
  AddressPolicy addresses;
  ObjectSettings objects;

  unsigned max_redirects = 3;  ///< 0: none are followed
  /// Looking up the name, and connecting to one of its addresses.
  std::chrono::milliseconds dial_timeout{5'000};
  std::chrono::milliseconds tls_timeout{5'000};  ///< added to dial_timeout for https
  /// Everything, from fetch() to the last byte: waiting for a connection, redirects, reading a
  /// file.
  std::chrono::milliseconds download_timeout{5'000};
  /// An origin that is slower for three seconds, or 3/5 of download_timeout if more, is given up.
  std::uint32_t min_bytes_per_second = 1'024;
  std::size_t max_bytes = std::size_t{64} << 20;  ///< of one original
  /// Bytes of all originals being fetched at once; a fetch beyond it is answered `busy`.
  std::size_t max_bytes_under_way = std::size_t{1} << 30;
  std::string user_agent = "framewire";
  std::string ca_file;  ///< PEM; the authorities that https origins are checked by; empty: system's

  unsigned connections_per_origin = 32;  ///< scheme, host and port make an origin
  unsigned connections = 256;            ///< to all origins
  /// Fetches that may wait for a connection, and those that may wait for a thread to read a file;
  /// fetch() refuses one more as `busy`.
  std::size_t waiting = 1'024;
  unsigned file_threads = 4;
  unsigned resolver_threads = 16;  ///< names looked up at once

  Allocate allocate;  ///< empty: ordinary memory
};

}  // namespace framewire::service::source
