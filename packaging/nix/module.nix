# SPDX-License-Identifier: Apache-2.0
# timerd for NixOS:
#
#   imports = [ ./module.nix ];
#   services.timerd = { enable = true; package = import ./default.nix { inherit pkgs; tarball = ./timerd-….tar.gz; }; };
{ config, lib, pkgs, ... }:

let
  cfg = config.services.timerd;
in
{
  options.services.timerd = {
    enable = lib.mkEnableOption "timerd, which owns jobs in time";
    package = lib.mkOption {
      type = lib.types.package;
      description = "The package, of default.nix beside this file.";
    };
    settings = lib.mkOption {
      type = lib.types.attrs;
      default = { };
      example = { maxRuns = 50; };
      description = ''
        What stands in /etc/timerd/timerd.json; see timerd.conf(5). All users can read it, as they can read the Nix store: a
        password belongs in TIMERD_DATABASE, by an EnvironmentFile= of mode 0600.
      '';
    };
  };

  config = lib.mkIf cfg.enable {
    environment.systemPackages = [ cfg.package ];
    environment.etc."timerd/timerd.json".text = builtins.toJSON cfg.settings;
    security.pam.services.timerd = { };
    systemd.packages = [ cfg.package ];
    systemd.sockets.timerd.wantedBy = [ "sockets.target" ];
    systemd.sockets.timerd-runner.wantedBy = [ "sockets.target" ];
    systemd.services.timerd = {
      wantedBy = [ "multi-user.target" ];
      # The units ask systemctl and kill.
      path = [ config.systemd.package pkgs.coreutils ];
      reloadTriggers = [ (builtins.toJSON cfg.settings) ];
    };
    # Its runs go on through a switch to another generation; it makes room once it has none left.
    systemd.services.timerd-runner = {
      restartIfChanged = false;
      stopIfChanged = false;
    };
  };
}
