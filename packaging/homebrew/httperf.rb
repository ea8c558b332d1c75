# A formula for Homebrew on Linux. `cargo xtask release` fills in the fields between `@`.
class Httperf < Formula
  desc "HTTP load generator that keeps its schedule and reports its own error"
  homepage "@HOMEPAGE@"
  url "@URL@"
  sha256 "@SHA256@"
  license any_of: ["MIT", "Apache-2.0"]

  depends_on "cmake" => :build
  # The bindings to BoringSSL are made from its headers, by libclang.
  depends_on "llvm" => :build
  depends_on "rust" => :build
  # The loop of the workers is made of epoll and timerfd.
  depends_on :linux

  def install
    ENV["LIBCLANG_PATH"] = Formula["llvm"].opt_lib.to_s
    system "cargo", "install", *std_cargo_args(path: "crates/httperf")
    bin.install_symlink "httperf" => "idleconn"
    man1.install "docs/man/httperf.1", "docs/man/idleconn.1"
    generate_completions_from_executable(bin/"httperf", "completions")
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/httperf --version")
    assert_match "httperf", shell_output("#{bin}/httperf completions bash")
  end
end
