# A flake: `nix run`, in a folder with this file. `cargo xtask release` fills in the fields between `@`.
{
  description = "HTTP load generator that keeps its schedule and reports its own error";

  inputs = {
    nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";
    # The checksum goes into flake.lock when it is first fetched.
    source = {
      url = "tarball+@URL@";
      flake = false;
    };
  };

  outputs =
    {
      self,
      nixpkgs,
      source,
    }:
    let
      systems = [
        "x86_64-linux"
        "aarch64-linux"
      ];
      forEachSystem = nixpkgs.lib.genAttrs systems;
    in
    {
      packages = forEachSystem (
        system:
        let
          pkgs = nixpkgs.legacyPackages.${system};
        in
        {
          default = pkgs.rustPlatform.buildRustPackage {
            pname = "httperf";
            version = "@VERSION@";
            src = source;
            cargoLock.lockFile = "${source}/Cargo.lock";
            cargoBuildFlags = [ "--package=httperf" ];
            # The tests need servers and minutes: `make test`, in the source.
            doCheck = false;
            nativeBuildInputs = [
              pkgs.cmake
              pkgs.git
              pkgs.installShellFiles
              # The bindings to BoringSSL are made from its headers.
              pkgs.rustPlatform.bindgenHook
            ];
            dontUseCmakeConfigure = true;
            postInstall = ''
              ln -s httperf $out/bin/idleconn
              installManPage docs/man/httperf.1 docs/man/idleconn.1
              installShellCompletion --cmd httperf \
                --bash <($out/bin/httperf completions bash) \
                --zsh <($out/bin/httperf completions zsh) \
                --fish <($out/bin/httperf completions fish)
            '';
            meta = {
              homepage = "@HOMEPAGE@";
              license = with pkgs.lib.licenses; [
                mit
                asl20
              ];
              platforms = systems;
              mainProgram = "httperf";
            };
          };
        }
      );
    };
}
